"""YAML 1.2 as OpenAPI wants it: JSON's types only, keys always text, aliases bounded.

The one reader of YAML: for documents and for the project's own files. Nodes are composed by libyaml and
turned into values here, since PyYAML's own rules are those of YAML 1.1: ``on`` and ``yes`` as booleans,
dates as dates, ``200`` as an integer key.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from anvil_generator.sources.text import MAX_DEPTH, MAX_NODES, TextError, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_generator.sources.pointers import Pointer

_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_TAG = "tag:yaml.org,2002:"


class _Loader(_Base):  # type: ignore[misc]
    """libyaml's composer with the core schema of YAML 1.2."""


class _Dumper(yaml.SafeDumper):
    """PyYAML's writer; it quotes a text that either version of YAML would read as something else."""


_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)$", [*"~nN", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", [*"tTfF"]),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", [*"-+0123456789"]),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", [*"-+.0123456789"]),
    ("merge", r"<<$", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)
    _Dumper.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)


def write(data: Any) -> str:
    """Data as YAML text that ``parse`` reads as the same data, its keys in their order."""
    dumped: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return dumped


def parse(text: str, *, tags: bool = True) -> Tree:
    """The value of a YAML text; raises TextError with the line of what is wrong.

    ``tags``: whether a tag (``!!set``, ``!mine``) is passed over, as in documents of others.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TextError("invalid_yaml", f"not valid YAML: {error.reason}", line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "syntax error"
        # The end of a text is a line of its own to libyaml.
        last = min(mark.line, text.count("\n")) + 1 if mark else None
        raise TextError("invalid_yaml", f"not valid YAML: {what}", last) from error
    finally:
        loader.dispose()
    if node is None:
        raise TextError("document_empty", "is empty", 1)
    builder = _Builder(None if tags else loader.resolve)
    root = builder.build(node).value
    index = _Index(node)
    duplicates = sorted((index.where(key), _line(key)) for key in builder.repeated)
    return Tree(root, index.line, tuple(duplicates))


@dataclass(frozen=True, slots=True)
class _Built:
    value: Any
    size: int = 1
    height: int = 0


@dataclass(slots=True)
class _Builder:
    """Turns nodes into values, each node once; ``size`` counts what aliases would expand to.

    ``resolve`` finds the tag that a node has by its form, and is None where tags do not matter.
    """

    resolve: Callable[[type, str | None, Any], str] | None
    done: dict[int, _Built] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    count: int = 0
    repeated: list[Any] = field(default_factory=list)

    def build(self, node: Any, depth: int = 0) -> _Built:
        if self.resolve:
            _check_tag(node, self.resolve)
        if isinstance(node, yaml.ScalarNode):
            self.count += 1
            return _Built(_scalar(node))
        if id(node) in self.open:
            raise TextError("yaml_recursive", "an alias contains itself", _line(node))
        built = self.done.get(id(node))
        if built is None:
            if depth > MAX_DEPTH:
                raise _too_deep(node)
            self.open.add(id(node))
            is_mapping = isinstance(node, yaml.MappingNode)
            built = self._mapping(node, depth) if is_mapping else self._list(node, depth)
            self.open.discard(id(node))
            self.done[id(node)] = built
            self.count += 1
            # Aliases may repeat what stands there, but not blow it up.
            if built.size > min(MAX_NODES, 100_000 + 10 * self.count):
                raise TextError("yaml_aliases", "its aliases expand to too much", _line(node))
        if depth + built.height > MAX_DEPTH:
            raise _too_deep(node)
        return built

    def _list(self, node: Any, depth: int) -> _Built:
        items = [self.build(item, depth + 1) for item in node.value]
        return _sum([item.value for item in items], items)

    def _mapping(self, node: Any, depth: int) -> _Built:
        values: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        parts: list[_Built] = []
        for key, item in node.value:
            built = self.build(item, depth + 1)
            parts.append(built)
            if key.tag == _TAG + "merge":
                sources = built.value if isinstance(built.value, list) else [built.value]
                merged.extend(source for source in sources if isinstance(source, dict))
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise TextError("yaml_key", "a key must be plain text", _line(key))
            if key.value in values:
                self.repeated.append(key)
            values[key.value] = built.value
        for source in merged:
            for name, value in source.items():
                values.setdefault(name, value)
        return _sum(values, parts)


def _check_tag(node: Any, resolve: Callable[[type, str | None, Any], str]) -> None:
    """Refuse a tag that says more than the node's form does; ``!!str`` alone is a way of quoting."""
    is_scalar = isinstance(node, yaml.ScalarNode)
    plain = is_scalar and not node.style
    usual = resolve(type(node), node.value if is_scalar else None, (plain, not plain))
    if node.tag not in {usual, _TAG + "str"}:
        tag = node.tag.replace(_TAG, "!!")
        raise TextError("invalid_yaml", f"not valid YAML: the tag {tag} means nothing here", _line(node))


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _sum(value: Any, parts: list[_Built]) -> _Built:
    return _Built(
        value, 1 + sum(part.size for part in parts), 1 + max((part.height for part in parts), default=0)
    )


def _too_deep(node: Any) -> TextError:
    message = f"is nested deeper than {MAX_DEPTH} levels"
    return TextError("document_too_deep", message, _line(node))


def _scalar(node: Any) -> Any:
    """The value of a scalar; a number that JSON cannot hold stays text."""
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    try:
        if kind == "int":
            return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if kind == "float":
            number = float(text)
            return number if math.isfinite(number) else text
    except ValueError:
        return text
    return text


@dataclass(slots=True)
class _Index:
    """Finds nodes by pointer."""

    root: Any
    known: dict[int, dict[str, tuple[Any, Any]]] = field(default_factory=dict)

    def line(self, pointer: Pointer) -> int:
        """The line of the key (or list item) the pointer names, or of the last part that exists."""
        here = node = self.root
        for part in pointer:
            children = self._children(node)
            if part not in children:
                break
            here, node = children[part]
        return _line(here)

    def where(self, wanted: Any) -> Pointer:
        """The pointer of a key node, by walking everything; only used for duplicate keys."""
        waiting: list[tuple[Pointer, Any]] = [((), self.root)]
        seen: set[int] = set()
        while waiting:
            pointer, node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                for key, value in node.value:
                    if key is wanted:
                        return (*pointer, key.value)
                    waiting.append(((*pointer, str(key.value)), value))
            elif isinstance(node, yaml.SequenceNode):
                waiting.extend(((*pointer, str(at)), item) for at, item in enumerate(node.value))
        return ()

    def _children(self, node: Any) -> dict[str, tuple[Any, Any]]:
        if id(node) not in self.known:
            self.known[id(node)] = _children(node)
        return self.known[id(node)]


def _children(node: Any) -> dict[str, tuple[Any, Any]]:
    if isinstance(node, yaml.SequenceNode):
        return {str(at): (item, item) for at, item in enumerate(node.value)}
    if not isinstance(node, yaml.MappingNode):
        return {}
    found: dict[str, tuple[Any, Any]] = {}
    for key, value in node.value:
        if key.tag == _TAG + "merge":
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                found = {**_children(source), **found}
        else:
            found[str(key.value)] = (key, value)
    return found

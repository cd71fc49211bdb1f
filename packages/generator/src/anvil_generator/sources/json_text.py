"""JSON: parsed at once by the C scanner, positions found later by scanning along one pointer."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NoReturn

from anvil_generator.sources.text import TextError, Tree

if TYPE_CHECKING:
    from anvil_generator.sources.pointers import Pointer

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING_OR_BAD_NUMBER = re.compile(
    r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity|-?[0-9]{4301,}|-?[0-9.]+[eE]\+?[0-9]{3,}'
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(text: str) -> Tree:
    """The value of a JSON text; raises TextError with the line of what is wrong."""
    repeated = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        made = dict(items)
        repeated = repeated or len(made) != len(items)
        return made

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=_no_constant, parse_float=_finite)
    try:
        root = decoder.decode(text)
        if _SURROGATE_ESCAPE.search(text):
            root = _without_lone_surrogates(root)
    except json.JSONDecodeError as error:
        raise TextError("invalid_json", f"not valid JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise TextError("document_too_deep", "is nested too deep", None) from error
    except ValueError as error:
        said = "a number has too many digits" if "digits" in str(error) else str(error)
        raise TextError("invalid_json", f"not valid JSON: {said}", _bad_number_line(text)) from error
    index = _Index(text)
    return Tree(root, index.line, tuple(index.duplicates()) if repeated else ())


def _bad_number_line(text: str) -> int | None:
    """The line of the number that Python refused without saying where."""
    for match in _STRING_OR_BAD_NUMBER.finditer(text):
        if not match[0].startswith('"'):
            return text.count("\n", 0, match.start()) + 1
    return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(f"{literal} is too large a number")
    return number


def _without_lone_surrogates(value: Any) -> Any:
    """Half a character cannot be written as UTF-8 again; it becomes the replacement character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return value


@dataclass(slots=True)
class _Index:
    """Where things stand in a text that is known to be valid JSON."""

    text: str
    newlines: list[int] = field(default_factory=list)
    known: dict[int, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def line(self, pointer: Pointer) -> int:
        """The line of the key (or list item) the pointer names, or of the last part that exists."""
        here = value = self._skip(0)
        for part in pointer:
            children = self._children(value)
            if part not in children:
                break
            here, value = children[part]
        return self._line_at(here)

    def duplicates(self) -> list[tuple[Pointer, int]]:
        """Every key that is written twice. Slow, and only run when there is one."""
        found: list[tuple[Pointer, int]] = []
        waiting: list[tuple[Pointer, int]] = [((), self._skip(0))]
        while waiting:
            pointer, offset = waiting.pop()
            seen: set[str] = set()
            for name, key_at, value_at in self._members(offset):
                if name in seen:
                    found.append(((*pointer, name), self._line_at(key_at)))
                seen.add(name)
                waiting.append(((*pointer, name), value_at))
        return sorted(found, key=lambda duplicate: duplicate[1])

    def _line_at(self, offset: int) -> int:
        if not self.newlines:
            self.newlines.extend(accumulate(len(line) + 1 for line in self.text.split("\n")))
        return bisect_right(self.newlines, offset) + 1

    def _children(self, offset: int) -> dict[str, tuple[int, int]]:
        if offset not in self.known:
            self.known[offset] = {
                name: (key_at, value_at) for name, key_at, value_at in self._members(offset)
            }
        return self.known[offset]

    def _members(self, offset: int) -> list[tuple[str, int, int]]:
        """(name, offset of the key, offset of the value) of each member; children are skipped in C."""
        text, members = self.text, list[tuple[str, int, int]]()
        opening = text[offset]
        if opening not in "{[":
            return members
        at = self._skip(offset + 1)
        while text[at] not in "}]":
            key_at, name = at, str(len(members))
            if opening == "{":
                name, at = scanstring(text, at + 1, True)
                at = self._skip(self._skip(at) + 1)
            members.append((name, key_at, at))
            _, at = _scan(text, at)
            at = self._skip(at)
            if text[at] == ",":
                at = self._skip(at + 1)
        return members

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

"""The project's own YAML files as data, with the line of every value, so that problems have positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from anvil_core.problems import Position, Problem
from anvil_generator.errors import Failed, failure

if TYPE_CHECKING:
    from pathlib import Path

Key = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
LARGEST_FILE = 4 * 1024 * 1024


class YamlFile:
    """A parsed file: ``data`` and the line (from 1) of each key and item."""

    def __init__(self, name: str, data: Any, lines: dict[Key, int]) -> None:
        self.name, self.data, self.lines = name, data, lines

    def position(self, *key: str | int) -> Position:
        """Where a value stands, or the nearest one around it."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return Position(file=self.name, line=self.lines[key[:length]])
        return Position(file=self.name)


def read_yaml(path: Path, name: str | None = None) -> YamlFile:
    """Read one file. Raises Failed with a position when it is missing, unreadable or not YAML."""
    name = name or path.name
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise failure("file_too_large", f"larger than {LARGEST_FILE} bytes", name)
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise failure("file_unreadable", f"cannot be read: {error.strerror}", name) from None
    except UnicodeDecodeError as error:
        raise failure("file_unreadable", f"is not UTF-8: byte {error.start}", name) from None
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        lines: dict[Key, int] = {}
        if node is not None:
            _note_lines(node, (), lines, name)
        return YamlFile(name, yaml.load(text, Loader=yaml.CSafeLoader), lines)  # a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise failure(
            "yaml_invalid", f"not valid YAML: {error.problem}", name, mark.line + 1 if mark else None
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise failure("yaml_invalid", f"not valid YAML: {error}", name) from None


def _note_lines(node: yaml.Node, key: Key, lines: dict[Key, int], name: str) -> None:
    lines.setdefault(key, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            inner = (*key, str(key_node.value))
            if inner in lines:
                raise failure(
                    "duplicate_key",
                    f'the key "{key_node.value}" stands twice',
                    name,
                    key_node.start_mark.line + 1,
                )
            lines[inner] = key_node.start_mark.line + 1
            _note_lines(value_node, inner, lines, name)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(item, (*key, index), lines, name)


def validate(model: type[Model], file: YamlFile, code: str) -> Model:
    """The data as a model. Raises Failed with one positioned problem per thing that is wrong."""
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        problems = [
            Problem(
                severity="error",
                code=code,
                message=f"{_dotted(item['loc'])}: {_plain(item['type'], item['msg'])}",
                position=file.position(*item["loc"]),
            )
            for item in error.errors()
        ]
        raise Failed(problems) from None


def _dotted(location: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"


def _plain(kind: str, message: str) -> str:
    return "this key is not known; see docs/reference/manifest.md" if kind == "extra_forbidden" else message

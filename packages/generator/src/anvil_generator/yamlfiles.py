"""The project's own YAML files as data, with the line of every value, so that problems have positions."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from anvil_core.problems import Position, Problem
from anvil_generator.errors import Failed, failure

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

Key = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
LARGEST_FILE = 4 * 1024 * 1024
MOST_VALUES = 200_000


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
    text = _read_text(path, name)
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
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise failure("yaml_invalid", f"not valid YAML: {error.reason}", name, line) from None
    except RecursionError:
        raise failure("yaml_invalid", "is nested too deep", name) from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
        # The last two: what PyYAML raises for a tag whose value is none, such as "!!bool maybe".
        raise failure("yaml_invalid", f"not valid YAML: {error}", name) from None


def _read_text(path: Path, name: str) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise failure("file_too_large", f"larger than {LARGEST_FILE} bytes", name)
        data = path.read_bytes()
    except OSError as error:
        raise failure("file_unreadable", f"cannot be read: {error.strerror}", name) from None
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure("file_unreadable", f"is not UTF-8: byte {error.start}", name, line) from None


def _note_lines(node: yaml.Node, key: Key, lines: dict[Key, int], name: str) -> None:
    if len(lines) > MOST_VALUES:  # a few lines of aliases can stand for billions of values
        raise failure("file_too_large", f"holds more than {MOST_VALUES} values", name)
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
    """The data as a model, no value taken for another type. Raises Failed with all that is wrong."""
    try:
        # As JSON, since only there strict means: "yes" is no boolean, and a list may become a tuple.
        return model.model_validate_json(json.dumps(file.data, default=_as_json), strict=True)
    except ValidationError as error:
        found = {(_place(item["loc"]), _plain(item)): item["loc"] for item in error.errors()}
        problems = [
            Problem(
                severity="error",
                code=code,
                message=f"{'.'.join(place) or 'the file'}: {message}",
                position=file.position(*location),
            )
            for (place, message), location in found.items()
        ]
        raise Failed(problems) from None
    except (TypeError, RecursionError):
        raise failure(code, "holds a key that is not text, or refers to itself", file.name) from None


def _as_json(value: object) -> object:
    """What YAML has beyond JSON: a date is the text that stands there, the rest is of no wanted type."""
    return value.isoformat() if isinstance(value, dt.date) else {}


def _place(location: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys alone: where several types are allowed, pydantic adds which one it tried."""
    return tuple(str(part) for part in location if not str(part).startswith("literal["))


def _plain(item: ErrorDetails) -> str:
    if item["type"] == "extra_forbidden":
        return "this key is not known; see docs/reference/manifest.md"
    if item["type"] == "model_type":
        return "must be a mapping of keys to values"
    return item["msg"]

"""The project's own YAML files as data, with the line of every value, so that problems have positions.

They are read by the reader of the documents, with less patience: a key that stands twice and a tag are
errors here, since a person writes these files for us.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from anvil_core.problems import Position, Problem
from anvil_generator.errors import Failed, failure
from anvil_generator.sources import text, yaml_text

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)
LARGEST_FILE = 4 * 1024 * 1024


@dataclass(frozen=True)
class YamlFile:
    """A file as the user names it and what is in it; ``tree`` is None for a file that is not there."""

    name: str
    tree: text.Tree | None = None

    def position(self, *key: str | int) -> Position:
        """Where a value stands, or the nearest one around it."""
        line = self.tree.line(tuple(str(part) for part in key)) if self.tree else None
        return Position(file=self.name, line=line)


def read_yaml(path: Path, name: str | None = None) -> YamlFile:
    """Read one file. Raises Failed with a position when it is missing, unreadable or not YAML."""
    name = name or path.name
    try:
        data = text.read_file(path, LARGEST_FILE)
    except text.TextError as error:
        raise failure("file_unreadable", error.message, name) from None
    try:
        tree = yaml_text.parse(text.decode(data), tags=False)
    except text.TextError as error:
        raise failure("yaml_invalid", error.message, name, error.line) from None
    if tree.duplicates:
        raise Failed(
            [
                Problem(
                    severity="error",
                    code="duplicate_key",
                    message=f'the key "{pointer[-1]}" stands twice',
                    position=Position(file=name, line=line),
                )
                for pointer, line in tree.duplicates
            ]
        )
    return YamlFile(name, tree)


def validate(model: type[Model], file: YamlFile, code: str) -> Model:
    """The data as a model, no value taken for another type. Raises Failed with all that is wrong."""
    data = file.tree.root if file.tree else {}
    try:
        # As JSON, since only there strict means: 0 is no boolean, and a list may become a tuple.
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        found = {(_place(item["loc"]), _plain(item, model)): item["loc"] for item in error.errors()}
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


def _place(location: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys alone: where several types are allowed, pydantic adds which one it tried."""
    return tuple(str(part) for part in location if not str(part).startswith("literal["))


def _plain(item: ErrorDetails, model: type[BaseModel]) -> str:
    if item["type"] == "extra_forbidden":
        *above, key = (str(part) for part in item["loc"])
        known = known_keys(model, above)
        near = difflib.get_close_matches(key, known, 1)
        guess = f'; did you mean "{near[0]}"?' if near else "."
        return f"this key is not known{guess} Known here: {', '.join(known)}"
    if item["type"] == "model_type":
        return "must be a mapping of keys to values"
    if item["type"] == "bool_type":
        return "must be true or false"
    return item["msg"]


def known_keys(model: type[BaseModel], location: list[str]) -> list[str]:
    """The keys that the mapping at a place of the file may have."""
    kind: Any = model
    for part in location:
        inside = _model_in(kind)
        if inside:
            kind = inside.model_fields[part].annotation
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
    inside = _model_in(kind)
    return list(inside.model_fields) if inside else []


def _model_in(kind: Any) -> type[BaseModel] | None:
    """The model that a type is, or the one that it may be beside None."""
    options = [kind, *(() if get_origin(kind) is dict else get_args(kind))]
    models = [one for one in options if isinstance(one, type) and issubclass(one, BaseModel)]
    return models[0] if models else None

"""``air.json``: a contract as one JSON document, in lines that can be compared.

Definitions that several operations share stand there once: what an operation has under ``$defs`` is a list of
their names. Written out for each operation they would be most of the file, for large APIs many times over.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from anvil_core.air import Air

if TYPE_CHECKING:
    from anvil_core.air import JsonSchema, Operation

_PARTS = (("input", "request"), ("output", "response"))
Definitions = dict[str, dict[str, Any]]


def write(air: Air) -> bytes:
    """One line for each definition and each operation, in order: ASCII, the same for the same contract."""
    definitions: Definitions = {direction: {} for _, direction in _PARTS}
    data = air.model_dump(mode="json", exclude={"operations"})
    operations = [_compact(_shared(operation, definitions)) for operation in air.operations]
    head = _compact(data).removesuffix("}")
    shared = ",\n".join(
        f"{_compact(direction)}:{{{_lines(_named(known))}}}" for direction, known in definitions.items()
    )
    return f'{head},"definitions":{{\n{shared}}},"operations":[{_lines(operations)}]}}\n'.encode("ascii")


def _named(known: dict[str, Any]) -> list[str]:
    return [f"{_compact(name)}:{_compact(schema)}" for name, schema in sorted(known.items())]


def _lines(items: list[str]) -> str:
    return "\n" + ",\n".join(items) + "\n" if items else ""


def read(text: bytes) -> Air:
    """The contract. Raises pydantic's ValidationError for a text that holds none."""
    try:
        data = from_json(text)
        for operation in data["operations"]:
            for part, direction in _PARTS:
                _expand(operation[part].get("json_schema"), data["definitions"][direction])
    except (ValueError, KeyError, TypeError, AttributeError):
        return Air.model_validate_json(text)  # it is no such document, and this says why
    del data["definitions"]
    return Air.model_validate(data)


def _shared(operation: Operation, definitions: Definitions) -> dict[str, Any]:
    """The operation as data, its definitions put among the shared ones."""
    schemas = {"input": {"json_schema"}, "output": {"json_schema"}}
    data = operation.model_dump(mode="json", exclude=schemas)
    for part, direction in _PARTS:
        schema: JsonSchema | None = getattr(operation, part).json_schema
        data[part]["json_schema"] = _with_names(schema, definitions[direction])
    return data


def _with_names(schema: JsonSchema | None, known: dict[str, Any]) -> JsonSchema | None:
    """The schema with the names of its definitions, or as it is where one of them is another's name."""
    own = schema.get("$defs") if schema else None
    if not schema or not own:
        return schema
    for name, part in own.items():
        shared = known.setdefault(name, part)
        if shared is not part and shared != part:
            return schema
    return {**schema, "$defs": list(own)}


def _expand(schema: Any, known: dict[str, Any]) -> None:
    """Put the definitions in place of their names. Raises KeyError for a name that there is not."""
    names = schema.get("$defs") if isinstance(schema, dict) else None
    if isinstance(names, list):
        schema["$defs"] = {name: known[name] for name in names}


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)

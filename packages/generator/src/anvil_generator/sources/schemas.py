"""Schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12.

A reference is kept as a reference, to a name under ``$defs``; nothing is expanded, so a schema that
contains itself costs nothing. A keyword with a value that JSON Schema does not allow is dropped with a
warning: whatever comes out is a valid schema.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from anvil_generator.sources import definition_names, keywords
from anvil_generator.sources.limits import PER_SCHEMA
from anvil_generator.sources.stop import Stop, shortened

if TYPE_CHECKING:
    from anvil_core.air import JsonSchema
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

Direction = Literal["request", "response"]
_ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
_MOST_PARTS = 500
_NOT_SENT = {"request": "readOnly", "response": "writeOnly"}


@dataclass(slots=True)
class Conversion:
    """One schema being converted. ``reaches`` collects the places that its references lead to."""

    raw: Raw
    direction: Direction
    reaches: set[Pointer] = field(default_factory=set)


def convert(conversion: Conversion, value: Any, pointer: Pointer) -> JsonSchema:
    """The schema as an object of 2020-12; ``true`` and ``false`` become ``{}`` and ``{"not": {}}``."""
    converted = _schema(conversion, value, pointer)
    if isinstance(converted, bool):
        return {} if converted else {"not": {}}
    return converted


def _schema(conversion: Conversion, value: Any, pointer: Pointer) -> JsonSchema | bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        conversion.raw.warn("schema_invalid", "a schema must be an object; read as any value", pointer)
        return {}
    conversion.raw.budget.step(PER_SCHEMA)
    out: JsonSchema = {}
    if isinstance(value.get("$ref"), str):
        target = conversion.raw.target(value["$ref"], (*pointer, "$ref"))
        if not isinstance(conversion.raw.at(target), (dict, bool)):
            message = f"{shortened(value['$ref'])!r} is no schema"
            raise Stop("not_a_schema", message, (*pointer, "$ref"))
        conversion.reaches.add(target)
        out["$ref"] = f"#/$defs/{definition_names.name(target, conversion.raw.kind)}"
        if conversion.raw.kind != "openapi-3.1":
            # 2.0 and 3.0 ignore what stands beside a reference; prose can stay, it constrains nothing.
            return out | {key: value[key] for key in ("description",) if isinstance(value.get(key), str)}
    for key, item in value.items():
        _keyword(conversion, out, key, item, (*pointer, key))
    _old_forms(value, out)
    _without_unsent(conversion, value, out, pointer)
    return _nullable(value, out) if conversion.raw.kind != "openapi-3.1" else out


def _keyword(conversion: Conversion, out: JsonSchema, key: str, item: Any, pointer: Pointer) -> None:
    """Copy one keyword of a schema into ``out``, converted."""
    if key == "items" and isinstance(item, list):
        key = "prefixItems"
    if not _usable(key, item):
        message = f"{key!r} cannot be used as it is written; ignored"
        conversion.raw.warn("schema_keyword_invalid", message, pointer)
    elif key in keywords.PLAIN:
        if key in _BOUNDS and isinstance(item, bool):
            return
        is_set = key in {"required", "type"} and isinstance(item, list)
        out[key] = list(dict.fromkeys(item)) if is_set else item
    elif key in keywords.ONE_SCHEMA:
        out[key] = _schema(conversion, item, pointer)
    elif key in keywords.SCHEMA_LIST:
        out[key] = [_schema(conversion, part, (*pointer, str(at))) for at, part in enumerate(item)]
    elif key in keywords.SCHEMA_MAP:
        out[key] = {name: _schema(conversion, part, (*pointer, name)) for name, part in item.items()}


def _usable(key: str, item: Any) -> bool:
    """Whether a keyword's value is one that JSON Schema allows, or that another step reads."""
    if key in keywords.PLAIN:
        is_old_bound = key in _BOUNDS and isinstance(item, bool)
        return is_old_bound or keywords.PLAIN[key](item)
    if key in keywords.SCHEMA_LIST:
        return isinstance(item, list) and bool(item)
    if key in keywords.SCHEMA_MAP:
        named = isinstance(item, dict)
        return named and (key != "patternProperties" or all(keywords.is_pattern(name) for name in item))
    return key not in keywords.REFERENCES or (key == "$ref" and isinstance(item, str))


_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def _old_forms(value: dict[str, Any], out: JsonSchema) -> None:
    """``example`` and the boolean bounds of 3.0 in the words of 2020-12."""
    if "example" in value and "examples" not in out:
        out["examples"] = [value["example"]]
    for exclusive, bound in _BOUNDS.items():
        if value.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)


def _nullable(value: dict[str, Any], out: JsonSchema) -> JsonSchema:
    """``nullable: true`` of 3.0, and ``x-nullable``, which documents of 2.0 write for the same.

    By the letter it only widens a ``type`` beside it; documents also write it beside a combinator
    and mean the same, so null is then an alternative of the whole.
    """
    if value.get("nullable") is not True and value.get("x-nullable") is not True:
        return out
    if any(key in out for key in ("allOf", "anyOf", "oneOf", "not")):
        outside = {key: out.pop(key) for key in _ANNOTATIONS if key in out}
        return {**outside, "anyOf": [out, {"type": "null"}]}
    if "type" in out:
        types = out["type"] if isinstance(out["type"], list) else [out["type"]]
        out["type"] = list(dict.fromkeys([*types, "null"]))
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    return out


def _without_unsent(conversion: Conversion, value: dict[str, Any], out: JsonSchema, pointer: Pointer) -> None:
    """A read-only property is not required of a caller, a write-only one not of an answer."""
    if "required" not in out:
        return
    unsent = _unsent_properties(conversion, value, pointer, set())
    required = [name for name in out["required"] if name not in unsent]
    if required:
        out["required"] = required
    else:
        del out["required"]


def _unsent_properties(conversion: Conversion, value: Any, pointer: Pointer, seen: set[Pointer]) -> set[str]:
    """Names that this schema, or a part of its ``allOf``, marks as going the other way only."""
    if not isinstance(value, dict) or pointer in seen or len(seen) > _MOST_PARTS:
        return set()
    seen.add(pointer)
    mark = _NOT_SENT[conversion.direction]
    found: set[str] = set()
    properties = value.get("properties")
    for name, item in properties.items() if isinstance(properties, dict) else ():
        there, _ = conversion.raw.follow(item, (*pointer, "properties", name))
        if isinstance(there, dict) and there.get(mark) is True:
            found.add(name)
    parts = value.get("allOf")
    for index, item in enumerate(parts if isinstance(parts, list) else ()):
        there, at = conversion.raw.follow(item, (*pointer, "allOf", str(index)))
        found |= _unsent_properties(conversion, there, at, seen)
    return found

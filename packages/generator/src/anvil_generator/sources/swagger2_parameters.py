"""Swagger 2.0 parameters: those of a body and of a form become a request body, the others get a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_core import media_types
from anvil_generator.sources.limits import MOST_PARAMETERS, PER_PARAMETER
from anvil_generator.sources.raw import Stop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

Found = tuple[Any, "Pointer"]

# Of the Parameter Object of 2.0 ("4.3.7 Parameter Object"), what says how it is sent and not what it is.
_NOT_SCHEMA = frozenset(
    {"name", "in", "required", "collectionFormat", "allowEmptyValue", "description", "schema"}
)
# collectionFormat -> style and explode, by location (OpenAPI 3.0, "Style Values"); 3.0 has none for tsv, and
# ssv and pipes in the query only.
_DELIMITED = {
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
}
_STYLES: dict[str, dict[str, tuple[str, bool]]] = {
    "query": {"csv": ("form", False), "multi": ("form", True), **_DELIMITED},
    "path": {"csv": ("simple", False), **_DELIMITED},
    "header": {"csv": ("simple", False), **_DELIMITED},
}
_STYLES["formData"] = _STYLES["query"]


def merged(raw: Raw, lists: Iterable[tuple[Any, Pointer]]) -> list[Found]:
    """The parameters of several lists, each behind its reference, a later one instead of an earlier one.

    What is no parameter is kept too, so that the reader finds it.
    """
    found: dict[object, Found] = {}
    for entries, pointer in lists:
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise Stop("parameters_invalid", "`parameters` must be a list", pointer)
        raw.budget.step(PER_PARAMETER * len(entries))
        if len(entries) > MOST_PARAMETERS:
            raise Stop("parameters_too_many", f"has more than {MOST_PARAMETERS} parameters", pointer)
        here: set[object] = set()
        for index, entry in enumerate(entries):
            value, there = raw.follow(entry, (*pointer, str(index)))
            key = _key(value)
            if key is None or key in here:
                key = (there, index)  # the reader tells of it
            here.add(key)
            found[key] = value, there
    return list(found.values())


def _key(value: Any) -> object:
    """What makes it the same parameter; there is one body at most, whatever its name."""
    location = _location(value)
    if location == "body":
        return location
    name = value.get("name") if location else None
    return (location, name) if isinstance(name, str) else None


def _location(value: Any) -> str | None:
    location = value.get("in") if isinstance(value, dict) else None
    return location if isinstance(location, str) else None


def convert(raw: Raw, found: list[Found], consumed: list[str], at: Pointer) -> dict[str, Any]:
    """``parameters`` and, where there is one, ``requestBody``, for an operation that stands at ``at``."""
    parameters: list[Any] = []
    fields: list[tuple[dict[str, Any], Pointer]] = []
    made: dict[str, Any] = {"parameters": parameters}
    for value, pointer in found:
        location = _location(value)
        if location == "body":
            made["requestBody"] = _body(raw, value, pointer, consumed, at)
        elif location == "formData" and isinstance(value.get("name"), str):
            fields.append((value, pointer))
        else:
            here = (*at, "parameters", str(len(parameters)))
            raw.stands_for[here] = raw.stands_for[(*here, "schema")] = pointer
            parameters.append(_parameter(value, pointer) if location in _STYLES else value)
    if fields and "requestBody" in made:
        raise Stop("body_and_form", "the operation has a body and fields of a form; keep one", fields[0][1])
    if fields:
        made["requestBody"] = _form(raw, fields, consumed, at)
    return made


def _body(raw: Raw, value: dict[str, Any], pointer: Pointer, consumed: list[str], at: Pointer) -> Any:
    here = (*at, "requestBody")
    raw.stands_for[here] = pointer
    types = consumed or [media_types.JSON]
    for media_type in types:
        raw.stands_for[(*here, "content", media_type, "schema")] = (*pointer, "schema")
    entry = {"schema": value["schema"]} if "schema" in value else {}
    kept = {key: value[key] for key in ("description", "required") if key in value}
    return {**kept, "content": dict.fromkeys(types, entry)}


def _parameter(value: dict[str, Any], pointer: Pointer) -> dict[str, Any]:
    kept: dict[str, Any] = {
        key: value[key] for key in ("name", "in", "required", "description") if key in value
    }
    return {**kept, **_style(value, pointer), "schema": _schema(value)}


def _schema(value: dict[str, Any]) -> dict[str, Any]:
    """The parameter's own keywords as a schema; a file is its bytes."""
    schema = {key: part for key, part in value.items() if key not in _NOT_SCHEMA}
    return {**schema, "type": "string", "format": "binary"} if schema.get("type") == "file" else schema


def _style(value: dict[str, Any], pointer: Pointer) -> dict[str, Any]:
    """How a list is written. Raises Stop for a way that there is not."""
    if value.get("type") != "array":
        return {}
    items, location = value.get("items"), value["in"]
    nested = isinstance(items, dict) and items.get("type") == "array"
    written = value.get("collectionFormat", "csv")
    style = None if nested or not isinstance(written, str) else _STYLES[location].get(written)
    if style is None:
        what = "lists in a list" if nested else f"a list as {written!r}"
        message = f"{location} parameter {value.get('name')!r} cannot be written: {what}"
        raise Stop("encoding_unsupported", message, pointer, "encoding_unsupported")
    return {"style": style[0], "explode": style[1]}


def _form(
    raw: Raw, fields: list[tuple[dict[str, Any], Pointer]], consumed: list[str], at: Pointer
) -> dict[str, Any]:
    """The fields of a form as one object, sent as a form of the kind that the document names."""
    here = (*at, "requestBody")
    raw.stands_for[here] = fields[0][1]
    with_file = any(value.get("type") == "file" for value, _ in fields)
    kinds = [one for one in consumed if media_types.kind_of(one) in {"form", "multipart"}]
    if with_file:  # 2.0: a file is sent as multipart/form-data, or as the form's only kind
        kinds = [one for one in kinds if media_types.kind_of(one) == "multipart"] or [media_types.MULTIPART]
    types = kinds or [media_types.FORM]
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    for value, pointer in fields:
        name = value["name"]
        if name in properties:
            raw.warn("parameter_duplicate", f"field {name!r} of the form is declared twice", pointer)
            continue
        described = {key: value[key] for key in ("description",) if key in value}
        properties[name] = {**_schema(value), **described}
        style = _style(value, pointer)
        if style and style != {"style": "form", "explode": True}:
            encoding[name] = style
        for media_type in types:
            raw.stands_for[(*here, "content", media_type, "schema", "properties", name)] = pointer
            raw.stands_for[(*here, "content", media_type, "encoding", name)] = pointer
    required = [value["name"] for value, _ in fields if value.get("required") is True]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    entry = {"schema": schema, **({"encoding": encoding} if encoding else {})}
    return {"required": bool(required), "content": dict.fromkeys(types, entry)}

"""The fields of a form: how each is written, by its schema and Encoding Object (OpenAPI 3.1.1, 4.8.15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from anvil_core import media_types
from anvil_core.air import FormField
from anvil_generator.sources import shapes
from anvil_generator.sources.raw import text

if TYPE_CHECKING:
    from anvil_core.air import JsonSchema
    from anvil_core.param_styles import Shape, Style
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

STYLES = ("form", "spaceDelimited", "tabDelimited", "pipeDelimited", "deepObject")
BASE64 = "The bytes as base64 text."
_STYLED = ("style", "explode", "allowReserved")
_SAYS = ("type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "properties", "items", "not", "if")
_HEADERS_OF_THE_PART = ("content-type", "content-transfer-encoding", "content-disposition")


@dataclass(frozen=True, slots=True)
class Property:
    """One property of the body's schema, as it is written in the document."""

    name: str
    schema: Any
    pointer: Pointer


def read(raw: Raw, media_type: str, entry: dict[str, Any], pointer: Pointer) -> tuple[FormField, ...]:
    """The fields that are not written by the default of their type. Raises Stop for one that cannot be."""
    at = (*pointer, "schema")
    found = properties(raw, entry.get("schema"), at)
    encoding = entry.get("encoding")
    encoding = encoding if isinstance(encoding, dict) else {}
    others = tuple(sorted(found))
    fields = []
    for name, one in sorted(found.items()):
        said, said_at = raw.follow(encoding.get(name, {}), (*pointer, "encoding", name))
        if not isinstance(said, dict):
            raise shapes.unsupported(f"the encoding of field {name!r} must be an object", said_at)
        field = _field(raw, media_type, one, said, said_at)
        if field is not None:
            spreads = (
                field.style == "form"
                and field.explode
                and "object" in shapes.of(raw, one.schema, one.pointer)
            )
            fields.append(field.model_copy(update={"others": others}) if spreads else field)
    return tuple(fields)


def properties(raw: Raw, schema: Any, pointer: Pointer) -> dict[str, Property]:
    """The properties of a schema and of what it is combined from, by name; the first of a name counts."""
    found: dict[str, Property] = {}
    waiting = [(schema, pointer)]
    seen: set[Pointer] = set()
    while waiting:
        value, at = waiting.pop(0)
        value, at = shapes.followed(raw, value, at)
        if not isinstance(value, dict) or at in seen:
            continue
        seen.add(at)
        own = value.get("properties")
        for name, one in own.items() if isinstance(own, dict) else ():
            found.setdefault(name, Property(name, one, (*at, "properties", name)))
        for key in ("allOf", "anyOf", "oneOf"):
            parts = value.get(key)
            waiting += [
                (part, (*at, key, str(index)))
                for index, part in enumerate(parts if isinstance(parts, list) else ())
            ]
    return found


def told(schema: JsonSchema, fields: tuple[FormField, ...]) -> JsonSchema:
    """The schema with a word at each file on how its bytes are given."""
    files = [field for field in fields if field.file]
    if not files:
        return schema
    given = dict(schema.get("properties", {}))
    for field in files:
        part = given.get(field.name, {})
        part = part if isinstance(part, dict) else {}
        how = BASE64
        if len(field.media_types) > 1 or "*" in "".join(field.media_types):
            how = f"A data URL, data:TYPE;base64,...; TYPE is one of {', '.join(field.media_types)}."
        given[field.name] = {
            **part,
            "description": " ".join(filter(None, [text(part.get("description")), how])),
        }
    return {**schema, "properties": given}


def is_binary(raw: Raw, schema: Any, pointer: Pointer) -> bool:
    """Whether the schema stands for bytes that JSON cannot hold as they are."""
    schema, _ = shapes.followed(raw, schema, pointer)
    if not isinstance(schema, dict):
        return False
    if schema.get("format") == "binary":
        return True
    typed = media_types.kind_of(str(schema.get("contentMediaType", "text/plain")))
    return raw.kind == "openapi-3.1" and "contentEncoding" not in schema and typed in {"bytes", "other"}


def is_encoded(raw: Raw, schema: Any, pointer: Pointer) -> bool:
    """Whether the schema stands for bytes that are sent as base64 text."""
    schema, _ = shapes.followed(raw, schema, pointer)
    return isinstance(schema, dict) and (schema.get("format") == "byte" or "contentEncoding" in schema)


def _field(
    raw: Raw, media_type: str, one: Property, said: dict[str, Any], said_at: Pointer
) -> FormField | None:
    form = media_types.kind_of(media_type) == "form"
    # 3.0: "SHALL be ignored if the request body media type is not application/x-www-form-urlencoded"
    if any(key in said for key in _STYLED) and (form or raw.kind != "openapi-3.0"):
        return _styled(raw, one, said, said_at)
    if not form:
        _check_headers(one, said, said_at)
    schema, pointer = _single(raw, one)
    wanted = tuple(part.strip() for part in text(said.get("contentType")).split(",") if part.strip())
    kinds = {media_types.kind_of(part) for part in wanted}
    encoded = is_encoded(raw, schema, pointer)
    if form:
        return _of_types(raw, one, schema, pointer, wanted, said_at) if wanted and not encoded else None
    bare = isinstance(schema, dict) and not any(word in schema for word in _SAYS)
    image = bool(kinds) and kinds <= {"bytes", "other"} and "primitive" in shapes.of(raw, schema, pointer)
    octets = bare and not wanted and raw.kind == "openapi-3.1"  # "type: absent" of the table
    if not encoded and (is_binary(raw, schema, pointer) or image or octets):
        return FormField(name=one.name, file=True, media_types=wanted)
    if encoded and not wanted:
        return FormField(name=one.name, media_types=(media_types.OCTETS,))
    return _of_types(raw, one, schema, pointer, wanted, said_at) if wanted else None


def _single(raw: Raw, one: Property) -> tuple[Any, Pointer]:
    """The schema of one value of the field: a list is several fields of one name."""
    schema, pointer = shapes.followed(raw, one.schema, one.pointer)
    if isinstance(schema, dict) and "items" in schema and "array" in shapes.of(raw, schema, pointer):
        return shapes.followed(raw, schema["items"], (*pointer, "items"))
    return schema, pointer


def _of_types(
    raw: Raw, one: Property, schema: Any, pointer: Pointer, wanted: tuple[str, ...], said_at: Pointer
) -> FormField:
    """The first of the wanted types that every value the schema allows can be written in."""
    allowed = shapes.of(raw, schema, pointer)
    concrete = [part for part in wanted if "*" not in part]
    for part in concrete:
        if media_types.is_json(part) or allowed == {"primitive"}:
            return FormField(name=one.name, media_types=(part,))
    message = f"field {one.name!r} of the body cannot be written as {', '.join(wanted)}"
    raise shapes.unsupported(message, (*said_at, "contentType"))


def _styled(raw: Raw, one: Property, said: dict[str, Any], said_at: Pointer) -> FormField | None:
    style = said.get("style", "form")
    if style not in STYLES:
        raise shapes.unsupported(f"field {one.name!r} of the body has no valid style", (*said_at, "style"))
    explode = said["explode"] is True if "explode" in said else style in {"form", "deepObject"}
    reserved = said.get("allowReserved") is True
    what = f"field {one.name!r} of the body"
    made: Style = cast("Style", style)
    shapes.check_written(raw, one.schema, one.pointer, made, "form", explode=explode, what=what)
    several: frozenset[Shape] = frozenset({"object"})
    if style == "form" and explode and not reserved and not shapes.of(raw, one.schema, one.pointer) & several:
        return None  # as it is written anyway
    return FormField(name=one.name, style=made, explode=explode, allow_reserved=reserved)


def _check_headers(one: Property, said: dict[str, Any], said_at: Pointer) -> None:
    headers = said.get("headers")
    for name in headers if isinstance(headers, dict) else ():
        if name.lower() not in _HEADERS_OF_THE_PART:
            message = f"field {one.name!r} of the body has a header {name!r} of its own"
            raise shapes.unsupported(message, (*said_at, "headers", name))

"""The request body: its media type by the rule in ``media``, its schema, whether it must be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_core import media_types
from anvil_core.air import Body
from anvil_generator.sources import arguments, fields, media, shapes
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
    from anvil_generator.sources.definitions import Definitions
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw


def read(
    raw: Raw, definitions: Definitions, declared: Any, pointer: Pointer
) -> tuple[Body | None, set[Pointer]]:
    """The body, and the places its schema refers to. An optional body of an unknown kind is withheld
    too: the operation without it may mean something else.
    """
    found, there = raw.object_at(declared, pointer, "a request body")
    content, at = found.get("content"), (*there, "content")
    if not isinstance(content, dict) or not content:
        raise Stop("body_without_content", "the request body has no `content`", there)
    offered = media.writable(content)
    if not offered:
        raise shapes.unsupported(f"no body can be sent as {', '.join(sorted(content))}", at)
    for media_type in offered[:-1]:
        body = _body_if_writable(raw, definitions, found, media_type, at)
        if body is not None:
            return body
    return _body(raw, definitions, found, offered[-1], at)


def _body_if_writable(
    raw: Raw, definitions: Definitions, found: dict[str, Any], media_type: str, at: Pointer
) -> tuple[Body, set[Pointer]] | None:
    try:
        return _body(raw, definitions, found, media_type, at)
    except Stop as stop:
        if not stop.reason:
            raise
        return None


def _body(
    raw: Raw, definitions: Definitions, found: dict[str, Any], media_type: str, at: Pointer
) -> tuple[Body, set[Pointer]]:
    """The body in one of its media types. Raises Stop with a reason where it cannot be written in it."""
    entry, entry_at = raw.object_at(found["content"][media_type], (*at, media_type), "a media type")
    schema_at = (*entry_at, "schema")
    written = entry.get("schema", {})
    wire = media.on_the_wire(media_type, binary=fields.is_binary(raw, written, schema_at))
    kind = media_types.kind_of(wire)
    allowed = shapes.of(raw, written, schema_at)
    if kind in {"text", "bytes"} and "primitive" not in allowed:
        raise shapes.unsupported(f"OpenAPI does not say how {wire} holds an object or list", schema_at)
    if kind in {"form", "multipart"} and "object" not in allowed:
        raise shapes.unsupported(f"the body's schema is no object, so {wire} has no fields", schema_at)
    own = fields.read(raw, wire, entry, entry_at) if kind in {"form", "multipart"} else ()
    encoded = kind == "bytes" and fields.is_encoded(raw, written, schema_at)
    schema, reaches = definitions.inline(written, schema_at, "request")
    description = text(schema.get("description")) or text(found.get("description"))
    if kind == "bytes" and not encoded:
        description = f"{description} {fields.BASE64}".strip()
    if description and schema.get("description") != description:
        schema = {**schema, "description": description}
    body = Body(
        argument=arguments.BODY,
        media_type=wire,
        required=found.get("required") is True,
        json_schema=fields.told(schema, own),
        fields=own,
        encoded=encoded,
    )
    return body, reaches

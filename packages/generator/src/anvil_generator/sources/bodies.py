"""The request body: its media type by the rule in ``media``, its schema, whether it must be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_core import media_types
from anvil_core.air import Body
from anvil_generator.sources import arguments, media
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
    from anvil_generator.sources.definitions import Definitions
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

_FORM_DEFAULTS = {"style": "form", "explode": True, "allowReserved": False}


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
    chosen = media.choose(content)
    wire = media.on_the_wire(chosen) if chosen is not None else ""
    if chosen is None or media_types.kind_of(wire) not in media_types.SUPPORTED_BODIES:
        offered = ", ".join(sorted(content))
        raise Stop("encoding_unsupported", f"no body can be sent as {offered}", at, "encoding_unsupported")
    entry, entry_at = raw.object_at(content[chosen], (*at, chosen), "a media type")
    _check_encoding(entry, entry_at)
    schema, reaches = definitions.inline(entry.get("schema", {}), (*entry_at, "schema"), "request")
    description = text(found.get("description"))
    if description and "description" not in schema:
        schema = {**schema, "description": description}
    body = Body(
        argument=arguments.BODY,
        media_type=wire,
        required=found.get("required") is True,
        json_schema=schema,
    )
    return body, reaches


def _check_encoding(entry: dict[str, Any], pointer: Pointer) -> None:
    """Fields of a form with an encoding of their own would be written wrongly; refuse them."""
    encoding = entry.get("encoding")
    for name, field in encoding.items() if isinstance(encoding, dict) else ():
        usual = isinstance(field, dict) and all(
            field[key] == _FORM_DEFAULTS.get(key)
            for key in ("style", "explode", "allowReserved")
            if key in field
        )
        if not usual or "contentType" in field or "headers" in field:
            message = f"field {name!r} of the body has an encoding of its own"
            raise Stop("encoding_unsupported", message, (*pointer, "encoding", name), "encoding_unsupported")

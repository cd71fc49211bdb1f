"""Swagger 2.0 in the words of OpenAPI 3.0, one operation at a time.

The document itself stays as it is, so that references lead where they always led. What is made here
stands under a pointer of its own, and ``Raw.stands_for`` says which part of the document each piece
comes from. Nothing here judges: a part of the wrong form is passed on as it is, and is told of by the
reader of OpenAPI 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_core import media_types
from anvil_generator.sources import swagger2_parameters
from anvil_generator.sources.raw import Stop

if TYPE_CHECKING:
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

CONVERTED = "openapi 3"
_BINARY = {"type": "string", "format": "binary"}
_FLOWS = {
    "accessCode": "authorizationCode",
    "application": "clientCredentials",
    "implicit": "implicit",
    "password": "password",
}


def operation(
    raw: Raw, value: dict[str, Any], pointer: Pointer, item: dict[str, Any], item_pointer: Pointer
) -> tuple[dict[str, Any], Pointer]:
    """The operation with its path item's parameters, and the pointer it stands under.

    Raises Stop for a parameter whose form OpenAPI 3 has no words for.
    """
    at = (*pointer, CONVERTED)
    raw.stands_for[at] = pointer
    kept = {key: part for key, part in value.items() if key not in {"parameters", "responses", "consumes"}}
    lists = [
        (item.get("parameters"), (*item_pointer, "parameters")),
        (value.get("parameters"), (*pointer, "parameters")),
    ]
    types = _types(raw, value, "consumes")
    kept |= swagger2_parameters.convert(raw, swagger2_parameters.merged(raw, lists), types, at)
    responses = value.get("responses")
    if isinstance(responses, dict):
        produced = _types(raw, value, "produces")
        kept["responses"] = {
            code: _response(raw, entry, (*pointer, "responses", code), (*at, "responses", code), produced)
            for code, entry in responses.items()
        }
    elif responses is not None:
        kept["responses"] = responses
    return kept, at


def _types(raw: Raw, value: dict[str, Any], key: str) -> list[str]:
    """The operation's own media types, or the document's."""
    declared = value[key] if key in value else raw.root.get(key)
    return [one for one in declared if isinstance(one, str)] if isinstance(declared, list) else []


def _response(raw: Raw, entry: Any, pointer: Pointer, at: Pointer, produced: list[str]) -> Any:
    try:
        found, there = raw.follow(entry, pointer)
    except Stop:
        found, there = entry, pointer
    raw.stands_for[at] = there
    if not isinstance(found, dict) or "schema" not in found:
        return found
    schema = found["schema"]
    is_file = isinstance(schema, dict) and schema.get("type") == "file"
    types = produced or ["application/octet-stream" if is_file else media_types.JSON]
    for media_type in types:
        raw.stands_for[(*at, "content", media_type, "schema")] = (*there, "schema")
    made = {"schema": _BINARY if is_file else schema}
    kept = {key: part for key, part in found.items() if key not in {"schema", "examples", "headers"}}
    return {**kept, "content": dict.fromkeys(types, made)}


def servers(raw: Raw) -> list[dict[str, str]]:
    """One server per scheme, https first; nothing where the document names no host."""
    host, base, declared = (raw.root.get(key) for key in ("host", "basePath", "schemes"))
    if not isinstance(host, str) or not host.strip():
        return []
    schemes = [one for one in declared if isinstance(one, str)] if isinstance(declared, list) else []
    ordered = sorted(dict.fromkeys(schemes or ["https"]), key=lambda scheme: scheme != "https")
    path = base.strip() if isinstance(base, str) else ""
    return [{"url": f"{scheme}://{host.strip()}/{path.lstrip('/')}".rstrip("/")} for scheme in ordered]


def security_scheme(entry: Any) -> Any:
    """One of ``securityDefinitions`` as a security scheme of OpenAPI 3."""
    if not isinstance(entry, dict):
        return entry
    if entry.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    flow = _FLOWS.get(str(entry.get("flow")))
    if entry.get("type") == "oauth2" and flow:
        return {"type": "oauth2", "flows": {flow: entry}}
    return entry

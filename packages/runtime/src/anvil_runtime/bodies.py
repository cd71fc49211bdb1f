"""Request bodies: one argument of the caller as bytes of the body's media type."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from anvil_core.media_types import FORM, MULTIPART, essence, kind_of
from anvil_runtime.headers import check_query_name
from anvil_runtime.styles import UnsendableError, json_text, text_of

if TYPE_CHECKING:
    from anvil_core.air import Body, JsonSchema


def encode_body(body: Body, value: object) -> tuple[str, bytes]:
    """(Content-Type, bytes) of the body. Raises UnsendableError."""
    kind = kind_of(body.media_type)
    if kind == "json":
        return body.media_type, json_text(value).encode("utf-8")
    if kind == "form":
        return FORM, urlencode(_form_pairs(body, value)).encode("ascii")
    if kind == "multipart":
        return _multipart(body, value)
    if kind == "binary":
        return body.media_type, _from_base64(body.argument, value)
    if not isinstance(value, str):
        raise UnsendableError(body.argument, f"must be the {essence(body.media_type)} text as a string.")
    return body.media_type, value.encode("utf-8")


def can_hold_key(media_type: str) -> bool:
    """Whether an idempotency key can be one property of such a body."""
    return kind_of(media_type) in {"json", "form", "multipart"}


def _form_pairs(body: Body, value: object) -> list[tuple[str, str]]:
    """Lists repeat their name; an object inside is written as JSON (OpenAPI 3.1.1, 4.8.15.1.1)."""
    pairs = []
    for name, item in _properties(body, value).items():
        for single in item if isinstance(item, list) else [item]:
            nested = isinstance(single, dict | list)
            pairs.append((name, json_text(single) if nested else text_of(single, body.argument)))
    return pairs


def _properties(body: Body, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnsendableError(body.argument, "must be an object.")
    for name in value:
        check_query_name(body.argument, name)
    return {name: item for name, item in value.items() if item is not None}


def _from_base64(argument: str, value: object) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise UnsendableError(argument, "must be the bytes to send as base64 text.")


def _multipart(body: Body, value: object) -> tuple[str, bytes]:
    """The parts in the order given. The boundary comes from their bytes, so that a preview shows the same."""
    parts: list[bytes] = []
    for name, item in _properties(body, value).items():
        schema = body.json_schema.get("properties", {}).get(name, {})
        items = item if isinstance(item, list) else [item]
        parts.extend(_part(f"{body.argument}.{name}", name, single, schema) for single in items)
    boundary = "anvil-" + hashlib.sha256(b"".join(parts)).hexdigest()[:32]
    line = b"--" + boundary.encode("ascii")
    whole = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return f"{MULTIPART}; boundary={boundary}", whole


def _part(argument: str, name: str, value: object, schema: JsonSchema) -> bytes:
    quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    disposition, content_type = f'form-data; name="{quoted}"', "text/plain; charset=utf-8"
    of_items = schema.get("items") if isinstance(schema.get("items"), dict) else schema
    if _is_file(of_items or {}):
        content = _from_base64(argument, value)
        disposition, content_type = f'{disposition}; filename="{quoted}"', "application/octet-stream"
    elif isinstance(value, dict | list):
        content, content_type = json_text(value).encode("utf-8"), "application/json"
    else:
        content = text_of(value, argument).encode("utf-8")
    head = f"Content-Disposition: {disposition}\r\nContent-Type: {content_type}\r\n\r\n"
    return head.encode("utf-8") + content


def _is_file(schema: JsonSchema) -> bool:
    return (
        schema.get("format") in {"binary", "byte"}
        or "contentEncoding" in schema
        or "contentMediaType" in schema
    )

"""Request bodies: one argument of the caller as bytes of the body's media type."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, unquote

from anvil_core.air import FormField
from anvil_core.media_types import FORM, MULTIPART, OCTETS, essence, is_json, kind_of
from anvil_core.media_types import matches as type_matches
from anvil_runtime.headers import check_query_name
from anvil_runtime.styles import UnsendableError, as_it_is, encode, json_text, named_pairs, text_of

if TYPE_CHECKING:
    from anvil_core.air import Body
    from anvil_runtime.styles import Escape

PLAIN = "text/plain; charset=utf-8"
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;name=([^;,]*))?;base64,(.*)", re.DOTALL | re.ASCII)
"""RFC 2397, base64 only; ``name`` is the file's."""


def encode_body(body: Body, value: object) -> tuple[str, bytes]:
    """(Content-Type, bytes) of the body. Raises UnsendableError."""
    kind = kind_of(body.media_type)
    if kind == "json":
        return body.media_type, json_text(value).encode("utf-8")
    if kind == "form":
        return FORM, _form(body, value)
    if kind == "multipart":
        return _multipart(body, value)
    if kind == "bytes" and not body.encoded:
        return body.media_type, _from_base64(body.argument, value)
    if not isinstance(value, str | int | float) or kind not in {"text", "bytes"}:
        raise UnsendableError(body.argument, f"must be the {essence(body.media_type)} text as a string.")
    return body.media_type, text_of(value, body.argument).encode("utf-8")


def can_hold_key(media_type: str) -> bool:
    """Whether an idempotency key can be one property of such a body."""
    return kind_of(media_type) in {"json", "form", "multipart"}


def _properties(body: Body, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnsendableError(body.argument, "must be an object.")
    for name in value:
        check_query_name(body.argument, name)
    return {name: item for name, item in value.items() if item is not None}


def _fields(body: Body) -> dict[str, FormField]:
    return {field.name: field for field in body.fields}


def _form(body: Body, value: object) -> bytes:
    """Lists repeat their name; an object inside is written as JSON (OpenAPI 3.1.1, 4.8.15.1.1)."""
    given, fields = _properties(body, value), _fields(body)
    pairs: list[tuple[str, str]] = []
    for name, item in given.items():
        field = fields.get(name, FormField(name=name))
        if field.style:
            pairs += _styled(body, field, item, given, encode)
            continue
        for one in _singles(item):
            text = _text(f"{body.argument}.{name}", field, one)
            pairs.append((quote_plus(name), quote_plus(text)))
    return "&".join(f"{name}={text}" for name, text in pairs).encode("ascii")


def _singles(item: Any) -> list[Any]:
    return item if isinstance(item, list) else [item]


def _text(argument: str, field: FormField, value: object) -> str:
    """A value as its media type has it: JSON where that is said or needed."""
    if isinstance(value, dict | list) or any(is_json(one) for one in field.media_types):
        return json_text(value)
    return text_of(value, argument)


def _styled(
    body: Body, field: FormField, value: object, given: dict[str, Any], escape: Escape
) -> list[tuple[str, str]]:
    """A field with a style of its own. The keys of an exploded object are fields: none is another's."""
    argument = f"{body.argument}.{field.name}"
    if field.style is None:
        raise ValueError(field.name)
    if isinstance(value, dict) and field.style == "form" and field.explode:
        for name in value:
            check_query_name(argument, name)
            if name in ({*given, *field.others} - {field.name}):
                raise UnsendableError(argument, f"must not set {name}, a field of its own.")
    return named_pairs(
        argument,
        field.name,
        value,
        style=field.style,
        explode=field.explode,
        allow_reserved=field.allow_reserved and escape is encode,
        escape=escape,
    )


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
    given, fields = _properties(body, value), _fields(body)
    for name, item in given.items():
        field = fields.get(name, FormField(name=name))
        argument = f"{body.argument}.{name}"
        if field.style:
            pairs = _styled(body, field, item, given, as_it_is)
            parts += [_part(key, PLAIN, text.encode("utf-8")) for key, text in pairs]
        elif field.file:
            parts += [_file(argument, field, one) for one in _singles(item)]
        else:
            parts += [_value(argument, field, one) for one in _singles(item)]
    boundary = "anvil-" + hashlib.sha256(b"".join(parts)).hexdigest()[:32]
    line = b"--" + boundary.encode("ascii")
    whole = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return f"{MULTIPART}; boundary={boundary}", whole


def _value(argument: str, field: FormField, value: object) -> bytes:
    usual = "application/json" if isinstance(value, dict | list) else PLAIN
    media_type = field.media_types[0] if field.media_types else usual
    return _part(field.name, media_type, _text(argument, field, value).encode("utf-8"))


def _file(argument: str, field: FormField, value: object) -> bytes:
    """Bytes, as base64 text or as a data URL that also says what they are and what the file is called."""
    url = _DATA_URL.fullmatch(value) if isinstance(value, str) else None
    said, name, data = url.groups() if url else (None, None, value)
    allowed = field.media_types
    media_type = said or (allowed[0] if allowed else OCTETS)
    if not said and (len(allowed) > 1 or "*" in media_type):
        raise UnsendableError(
            argument, f"must say what it is, as data:TYPE;base64,... with one of {', '.join(allowed)}."
        )
    if said and allowed and not any(type_matches(said, one) for one in allowed):
        raise UnsendableError(argument, f"must be one of {', '.join(allowed)}, not {said}.")
    return _part(field.name, media_type, _from_base64(argument, data), unquote(name or field.name))


def _part(name: str, media_type: str, content: bytes, filename: str | None = None) -> bytes:
    disposition = f'form-data; name="{_quoted(name)}"'
    if filename is not None:
        disposition += f'; filename="{_quoted(filename)}"'
    head = f"Content-Disposition: {disposition}\r\nContent-Type: {media_type}\r\n\r\n"
    return head.encode("utf-8") + content


def _quoted(name: str) -> str:
    """As browsers write it (HTML, "multipart/form-data encoding algorithm")."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

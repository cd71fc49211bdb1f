"""What a media type says of how its content is written and read: one answer for compiler and executor."""

from __future__ import annotations

from typing import Literal

Kind = Literal["json", "form", "multipart", "text", "bytes", "other_text", "other"]

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
OCTETS = "application/octet-stream"
WILDCARDS = frozenset({"*/*", "application/*"})

SUPPORTED_BODIES: frozenset[Kind] = frozenset({"json", "form", "multipart", "text", "bytes"})
"""The kinds of body that are compiled: an operation that takes no other is withheld."""

SUPPORTED_PARAMETERS: frozenset[Kind] = frozenset({"json", "text"})
"""The kinds of ``content`` of a parameter that are compiled."""


def essence(media_type: str) -> str:
    """The type without its parameters: ``Application/JSON; charset=utf-8`` -> application/json."""
    return media_type.partition(";")[0].strip().lower()


def kind_of(media_type: str) -> Kind:
    """How content of this type is written; "other" is of a kind that only its own software can write."""
    plain = essence(media_type)
    if plain in {JSON, "text/json"} or plain.endswith("+json"):
        return "json"
    if plain == FORM:
        return "form"
    if plain == MULTIPART:
        return "multipart"
    if plain == OCTETS:
        return "bytes"
    if plain.startswith("text/"):
        return "text"
    return "other_text" if plain.endswith(("/xml", "+xml")) else "other"


def matches(media_type: str, pattern: str) -> bool:
    """Whether a type is one that a pattern names: itself, ``image/*`` or ``*/*``."""
    plain, wanted = essence(media_type), essence(pattern)
    return wanted in {plain, "*/*"} or (wanted.endswith("/*") and plain.startswith(wanted[:-1]))


def is_json(media_type: str) -> bool:
    return kind_of(media_type) == "json"


def is_text(media_type: str) -> bool:
    """Whether it is text of some kind that is not JSON."""
    return kind_of(media_type) in {"text", "other_text"}


def fits_json(media_type: str) -> bool:
    """Whether JSON may stand there: a JSON type, or a wildcard that JSON fits."""
    return is_json(media_type) or essence(media_type) in WILDCARDS

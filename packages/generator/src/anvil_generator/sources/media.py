"""Which media type is used where a document offers several.

A body: ``application/json`` first, then any ``+json`` (merge patch, JSON Patch, vendor types), then
``application/x-www-form-urlencoded``, ``multipart/form-data``, ``text/plain``, and
``application/octet-stream``; within one rank the document's order decides. A wildcard that JSON fits
(``*/*``, ``application/*``) is sent as JSON and ranks behind the named JSON types. An answer: the
first JSON type, by the same ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_WILDCARDS = ("*/*", "application/*")
_RANKS = ("json", "+json", "wildcard", "form", "multipart", "text", "binary")

# What the runtime can write today. Issue G widens it.
SUPPORTED_BODIES = frozenset({"json", "+json", "wildcard", "form", "text"})
SUPPORTED_PARAMETERS = frozenset({"json", "+json", "text"})


def essence(media_type: str) -> str:
    """The type without its parameters: ``Application/JSON; charset=utf-8`` -> application/json."""
    return media_type.partition(";")[0].strip().lower()


def family(media_type: str) -> str | None:
    """Which of the ranks a media type belongs to, or None."""
    plain = essence(media_type)
    named = {
        JSON: "json",
        FORM: "form",
        "multipart/form-data": "multipart",
        "text/plain": "text",
        "application/octet-stream": "binary",
    }
    if plain in _WILDCARDS:
        return "wildcard"
    return "+json" if plain.endswith("+json") else named.get(plain)


def is_json(media_type: str) -> bool:
    return family(media_type) in {"json", "+json", "wildcard"}


def choose(offered: Iterable[str]) -> str | None:
    """The offered type to use, by the rule above; None if the rule knows none of them."""
    known = [media_type for media_type in offered if family(media_type)]
    return min(known, key=lambda media_type: _RANKS.index(str(family(media_type))), default=None)


def on_the_wire(media_type: str) -> str:
    """What is written into Content-Type."""
    return JSON if family(media_type) == "wildcard" else media_type.strip()

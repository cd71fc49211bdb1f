"""Which media type is used where a document offers several.

A body, of those that can be written: ``application/json`` first, then merge patch, then any other JSON
type, then JSON Patch (a list of steps: harder to get right than the thing itself), then a wildcard that
JSON fits, which is sent as JSON; then urlencoded and multipart forms, text and bytes. Within one rank the
document's order decides. An answer: the first that JSON fits, by the same ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil_core import media_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.media_types import Kind

_RANKS: tuple[Kind, ...] = ("json", "form", "multipart", "text", "bytes", "other_text", "other")
_MERGE_PATCH, _JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


def choose(offered: Iterable[str]) -> str | None:
    """The offered type to use, by the rule above; None if nothing is offered."""
    return min(offered, key=_rank, default=None)


def writable(offered: Iterable[str]) -> list[str]:
    """The offered types that a body can be written in, the one to use first."""
    return sorted((one for one in offered if _kind(one) in media_types.SUPPORTED_BODIES), key=_rank)


def on_the_wire(media_type: str, *, binary: bool) -> str:
    """What is written into Content-Type; ``binary``: the schema says bytes."""
    if media_types.essence(media_type) == "text/*":
        return "text/plain"
    if _is_wildcard(media_type):
        return media_types.OCTETS if binary else media_types.JSON
    return media_type.strip()


def _kind(media_type: str) -> Kind:
    return "json" if _is_wildcard(media_type) else media_types.kind_of(media_type)


def _rank(media_type: str) -> tuple[int, int]:
    plain = media_types.essence(media_type)
    first = [media_types.JSON, _MERGE_PATCH]
    within = (
        first.index(plain) if plain in first else 2 + (plain == _JSON_PATCH) + 2 * _is_wildcard(media_type)
    )
    return _RANKS.index(_kind(media_type)), within


def _is_wildcard(media_type: str) -> bool:
    return media_types.fits_json(media_type) and not media_types.is_json(media_type)

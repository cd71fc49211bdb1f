"""Which media type is used where a document offers several.

A body: ``application/json`` first, then any other JSON type (merge patch, JSON Patch, vendor types),
then a wildcard that JSON fits, which is sent as JSON; then forms, text and bytes. Within one rank the
document's order decides. An answer: the first that JSON fits, by the same ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil_core import media_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.media_types import Kind

_RANKS: tuple[Kind, ...] = ("json", "form", "multipart", "text", "other_text", "binary")


def choose(offered: Iterable[str]) -> str | None:
    """The offered type to use, by the rule above; None if nothing is offered."""
    return min(offered, key=_rank, default=None)


def on_the_wire(media_type: str) -> str:
    """What is written into Content-Type."""
    return media_types.JSON if _is_wildcard(media_type) else media_type.strip()


def _rank(media_type: str) -> tuple[int, bool, bool]:
    wildcard = _is_wildcard(media_type)
    kind: Kind = "json" if wildcard else media_types.kind_of(media_type)
    return _RANKS.index(kind), wildcard, media_types.essence(media_type) != media_types.JSON


def _is_wildcard(media_type: str) -> bool:
    return media_types.fits_json(media_type) and not media_types.is_json(media_type)

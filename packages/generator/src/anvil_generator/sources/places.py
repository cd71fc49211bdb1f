"""Where the document says what a contract rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_generator.sources import pointers
from anvil_generator.sources.model import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_generator.sources.parameters import Declared
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

REVERSIBLE = "x-reversible"


def of(
    raw: Raw, operation: dict[str, Any], pointer: Pointer, declared: Sequence[Declared]
) -> dict[str, Place]:
    """The places of one operation, as ``FoundOperation.places`` has them."""
    found = {f"{one.location} {one.name}": place(raw, one.pointer) for one in declared}
    if "security" in operation:
        found["security"] = place(raw, (*pointer, "security"))
    elif "security" in raw.root:
        found["security"] = place(raw, ("security",))
    if REVERSIBLE in operation:
        found[REVERSIBLE] = place(raw, (*pointer, REVERSIBLE))
    return found


def place(raw: Raw, pointer: Pointer) -> Place:
    return Place(pointers.write(raw.written_at(pointer)), raw.position(pointer))

"""``$defs``: each referenced schema converted once per direction, and closed over what it reaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anvil_generator.sources import definition_names, pointers, schemas
from anvil_generator.sources.raw import Stop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import JsonSchema
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw
    from anvil_generator.sources.schemas import Direction


@dataclass(slots=True)
class Definitions:
    """The converted schemas of a document. A schema that cannot be used keeps the reason why."""

    raw: Raw
    known: dict[tuple[Direction, Pointer], tuple[JsonSchema, frozenset[Pointer]] | Stop] = field(
        default_factory=dict
    )

    def inline(
        self, value: object, pointer: Pointer, direction: Direction
    ) -> tuple[JsonSchema, set[Pointer]]:
        """A schema that stands where it is used, and the places it refers to."""
        conversion = schemas.Conversion(self.raw, direction)
        return schemas.convert(conversion, value, pointer), conversion.reaches

    def closure(self, start: Iterable[Pointer], direction: Direction) -> dict[str, JsonSchema]:
        """The definitions that the given places reach, sorted by name; raises Stop if one is unusable."""
        found: dict[Pointer, JsonSchema] = {}
        waiting = sorted(start)
        while waiting:
            pointer = waiting.pop()
            if pointer in found:
                continue
            found[pointer], reaches = self._definition(pointer, direction)
            waiting.extend(sorted(reaches))
        named = {definition_names.name(pointer, self.raw.kind): schema for pointer, schema in found.items()}
        return dict(sorted(named.items()))

    def _definition(self, pointer: Pointer, direction: Direction) -> tuple[JsonSchema, frozenset[Pointer]]:
        key = (direction, pointer)
        if key not in self.known:
            try:
                schema, reaches = self.inline(pointers.get(self.raw.root, pointer), pointer, direction)
                self.known[key] = (schema, frozenset(reaches))
            except Stop as stop:
                self.known[key] = stop
        known = self.known[key]
        if isinstance(known, Stop):
            raise Stop(known.code, known.message, known.pointer, known.reason)
        return known

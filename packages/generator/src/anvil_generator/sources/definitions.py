"""``$defs``: each referenced schema converted once per direction, and closed over what it reaches."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from anvil_generator.sources import definition_names, schemas
from anvil_generator.sources.limits import LARGEST_SCHEMA, PER_DEFINITION
from anvil_generator.sources.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import JsonSchema
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw
    from anvil_generator.sources.schemas import Direction

TOO_LARGE: Literal["schema_too_large"] = "schema_too_large"


@dataclass(slots=True)
class Definitions:
    """The converted schemas of a document. A schema that cannot be used keeps the reason why."""

    raw: Raw
    known: dict[tuple[Direction, Pointer], tuple[JsonSchema, frozenset[Pointer], int] | Stop] = field(
        default_factory=dict
    )

    def inline(
        self, value: object, pointer: Pointer, direction: Direction
    ) -> tuple[JsonSchema, set[Pointer]]:
        """A schema that stands where it is used, and the places it refers to.

        Raises Stop for one that cannot be used, as ``closure`` does; the code of one that is too large
        is ``TOO_LARGE``.
        """
        schema, reaches, size = self._convert(value, pointer, direction)
        _check_size(size, pointer)
        self.raw.budget.write(size)
        return schema, reaches

    def _convert(
        self, value: object, pointer: Pointer, direction: Direction
    ) -> tuple[JsonSchema, set[Pointer], int]:
        conversion = schemas.Conversion(self.raw, direction)
        schema = schemas.convert(conversion, value, pointer)
        return schema, conversion.reaches, len(json.dumps(schema))

    def closure(self, start: Iterable[Pointer], direction: Direction) -> dict[str, JsonSchema]:
        """The definitions that the given places reach, sorted by name; raises Stop if one is unusable."""
        found: dict[Pointer, JsonSchema] = {}
        waiting = sorted(start)
        first, whole = waiting[:1], 0
        while waiting:
            pointer = waiting.pop()
            if pointer in found:
                continue
            self.raw.budget.step(PER_DEFINITION)
            found[pointer], reaches, size = self._definition(pointer, direction)
            whole += size
            _check_size(whole, first[0])
            waiting.extend(sorted(reaches))
        self.raw.budget.write(whole)
        named = {definition_names.name(pointer, self.raw.kind): schema for pointer, schema in found.items()}
        return dict(sorted(named.items()))

    def _definition(
        self, pointer: Pointer, direction: Direction
    ) -> tuple[JsonSchema, frozenset[Pointer], int]:
        key = (direction, pointer)
        if key not in self.known:
            try:
                schema, reaches, size = self._convert(self.raw.at(pointer), pointer, direction)
                self.known[key] = (schema, frozenset(reaches), size)
            except Stop as stop:
                self.known[key] = stop
        known = self.known[key]
        if isinstance(known, Stop):
            raise Stop(known.code, known.message, known.pointer, known.reason)
        return known


def _check_size(size: int, pointer: Pointer) -> None:
    """A tool's schema is read by a model: one beyond every use is refused before it is written."""
    if size > LARGEST_SCHEMA:
        message = f"its schema, with all that it refers to, has more than {LARGEST_SCHEMA} characters"
        raise Stop(TOO_LARGE, message, pointer, TOO_LARGE)

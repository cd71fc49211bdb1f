"""The parsed document while it is being read: reference resolution, positions, and what was noticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anvil_core.problems import Position, Problem
from anvil_generator.sources import pointers
from anvil_generator.sources.pointers import MISSING, Pointer

if TYPE_CHECKING:
    from anvil_generator.sources.model import Kind, Reason
    from anvil_generator.sources.text import Tree


class Stop(Exception):  # noqa: N818 - a way out of one operation, not an error of the program
    """This operation cannot be compiled; caught where operations are counted, never further up.

    With a ``reason`` the operation is withheld, without one it failed.
    """

    def __init__(self, code: str, message: str, pointer: Pointer, reason: Reason | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer
        self.reason = reason


@dataclass(slots=True)
class Raw:
    """A document under reading. ``warnings`` grows as parts are visited, each place once.

    ``stands_for``: where in the document a part comes from that was written anew, by its own pointer.
    """

    tree: Tree
    kind: Kind
    uri: str
    warnings: dict[tuple[str, Pointer], Problem] = field(default_factory=dict)
    stands_for: dict[Pointer, Pointer] = field(default_factory=dict)

    @property
    def root(self) -> dict[str, Any]:
        root: dict[str, Any] = self.tree.root
        return root

    def position(self, pointer: Pointer) -> Position:
        return Position(file=self.uri, line=self.tree.line(self.written_at(pointer)))

    def written_at(self, pointer: Pointer) -> Pointer:
        """Where the document has what stands at the pointer; the same but for what was written anew."""
        for length in range(len(pointer), 0, -1) if self.stands_for else ():
            origin = self.stands_for.get(pointer[:length])
            if origin is not None:
                return (*origin, *pointer[length:])
        return pointer

    def warn(self, code: str, message: str, pointer: Pointer, operation: str | None = None) -> None:
        pointer = self.written_at(pointer)
        if (code, pointer) not in self.warnings:
            self.warnings[code, pointer] = Problem(
                severity="warning",
                code=code,
                message=message,
                position=self.position(pointer),
                operation=operation,
            )

    def target(self, reference: str, pointer: Pointer) -> Pointer:
        """Where a ``$ref`` written at ``pointer`` leads; raises Stop when it leaves the document."""
        place, _, fragment = reference.partition("#")
        if place not in {"", self.uri, f"./{self.uri}"}:
            raise Stop(
                "external_reference",
                f"{reference!r} leaves the document; put what it names into this document",
                pointer,
                "external_reference",
            )
        target = pointers.parse_fragment(fragment)
        if target is None or pointers.get(self.root, target) is MISSING:
            raise Stop("unresolved_reference", f"{reference!r} names nothing in this document", pointer)
        return target

    def follow(self, value: Any, pointer: Pointer) -> tuple[Any, Pointer]:
        """The object itself, behind any chain of references."""
        seen: set[Pointer] = set()
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            if pointer in seen:
                raise Stop("reference_cycle", f"{value['$ref']!r} leads back to itself", pointer)
            seen.add(pointer)
            pointer = self.target(value["$ref"], (*pointer, "$ref"))
            value = pointers.get(self.root, pointer)
        return value, pointer

    def object_at(self, value: Any, pointer: Pointer, what: str) -> tuple[dict[str, Any], Pointer]:
        """Like ``follow``, and what is found there must be an object."""
        found, there = self.follow(value, pointer)
        if not isinstance(found, dict):
            raise Stop("not_an_object", f"{what} must be an object", there)
        return found, there


def text(value: Any) -> str:
    """Prose from the document; anything that is no text counts as none."""
    return value.strip() if isinstance(value, str) else ""

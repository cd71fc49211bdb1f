"""The parsed document while it is being read: reference resolution, positions, and what was noticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anvil_core.problems import Position, Problem
from anvil_generator.sources import pointers, references
from anvil_generator.sources.limits import Budget
from anvil_generator.sources.other_files import OtherFiles
from anvil_generator.sources.pointers import MISSING, File, Pointer
from anvil_generator.sources.stop import Stop, shortened

if TYPE_CHECKING:
    from anvil_generator.sources.model import Kind
    from anvil_generator.sources.text import Tree

__all__ = ["Raw", "Stop", "shortened", "text"]


@dataclass(slots=True)
class Raw:
    """A document under reading. ``warnings`` grows as parts are visited, each place once.

    ``stands_for``: where in the document a part comes from that was written anew, by its own pointer.
    ``names``: what ``references`` found out about the names of schemas, by file.
    """

    tree: Tree
    kind: Kind
    uri: str
    warnings: dict[tuple[str, Pointer], Problem] = field(default_factory=dict)
    stands_for: dict[Pointer, Pointer] = field(default_factory=dict)
    others: OtherFiles = field(default_factory=OtherFiles)
    budget: Budget = field(default_factory=Budget)
    names: dict[File | None, dict[str, list[Pointer]]] = field(default_factory=dict)

    @property
    def root(self) -> dict[str, Any]:
        root: dict[str, Any] = self.tree.root
        return root

    def position(self, pointer: Pointer) -> Position:
        file, parts = pointers.split(self.written_at(pointer))
        if file is None:
            return Position(file=self.uri, line=self.tree.line(parts))
        return Position(file=str(file), line=self.others.line(file, parts))

    def at(self, pointer: Pointer) -> Any:
        """The value at the pointer, or MISSING, in whichever file. Raises TextError as ``tree`` does."""
        file, parts = pointers.split(pointer)
        tree = self.tree if file is None else self.others.tree(file)
        return pointers.get(tree.root, parts)

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
        """Where a ``$ref`` written at ``pointer`` leads; raises Stop when it leads nowhere it may."""
        for target in references.candidates(self, reference, pointer):
            if self.at(target) is not MISSING:
                return target
        message = f"{shortened(reference)!r} names nothing in this document"
        raise Stop("unresolved_reference", message, pointer)

    def follow(self, value: Any, pointer: Pointer) -> tuple[Any, Pointer]:
        """The object itself, behind any chain of references."""
        seen: set[Pointer] = set()
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            if pointer in seen:
                message = f"{shortened(value['$ref'])!r} leads back to itself"
                raise Stop("reference_cycle", message, pointer)
            seen.add(pointer)
            self.budget.step()
            pointer = self.target(value["$ref"], (*pointer, "$ref"))
            value = self.at(pointer)
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

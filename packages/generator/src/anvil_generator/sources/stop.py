"""The way out of one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anvil_generator.sources.model import Reason
    from anvil_generator.sources.pointers import Pointer

LONGEST_QUOTE = 100


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


def shortened(value: str) -> str:
    """A text of the document as a message quotes it."""
    return value if len(value) <= LONGEST_QUOTE else f"{value[: LONGEST_QUOTE - 3]}..."

"""How much one document may cost: far above the largest that are in use, small enough to end soon.

A document of a few kilobytes can ask for any amount of work, since its parts may refer to each other:
what is read again for each place that refers to it is counted here.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_BYTES = 64_000_000
MAX_NODES = 2_000_000
MAX_DEPTH = 150
LONGEST_KEY = 5_000
LONGEST_ID = 500
MOST_OPERATIONS = 50_000
MOST_PARAMETERS = 1_000
LARGEST_SCHEMA = 500_000
MOST_STEPS = 12_000_000
MOST_WRITTEN = 300_000_000

# In steps: about what each costs, against one reference that is followed.
PER_DEFINITION = 3
PER_PARAMETER = 40
PER_SCHEMA = 6


class TextError(Exception):
    """The text cannot be read; ``line`` counts from 1, and the file is what the message speaks of."""

    def __init__(self, code: str, message: str, line: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


@dataclass(slots=True)
class Budget:
    """What was spent on a document. Going over it raises TextError: the document is refused as a whole."""

    steps: int = 0
    written: int = 0

    def step(self, count: int = 1) -> None:
        """Something was read, once more."""
        self.steps += count
        if self.steps > MOST_STEPS:
            message = "is too large: its parts are referred to from more places than can be followed"
            raise TextError("document_too_large", message, None)

    def write(self, size: int) -> None:
        """So many characters will be written for one operation."""
        self.written += size
        if self.written > MOST_WRITTEN:
            message = f"is too large: its operations come to more than {MOST_WRITTEN} characters"
            raise TextError("document_too_large", message, None)

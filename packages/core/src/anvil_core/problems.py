"""Problems as values: what is wrong, where, and what to do next."""

from __future__ import annotations

from typing import Literal

from anvil_core.air import Frozen


class Position(Frozen):
    """A place in a file of the user's; ``line`` counts from 1, None when the whole file is meant."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Problem(Frozen):
    """One thing that is wrong. An "error" stops a compile; a "warning" is reported and lived with."""

    severity: Literal["error", "warning"]
    code: str
    message: str
    position: Position
    operation: str | None = None

    def __str__(self) -> str:
        about = f" [{self.operation}]" if self.operation else ""
        return f"{self.position}: {self.severity}: {self.message}{about} ({self.code})"

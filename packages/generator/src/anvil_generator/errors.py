"""How a command ends: exit codes, and the one exception that carries problems to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil_core.problems import Position, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

OK, FAILED, USAGE, REFUSED = 0, 1, 2, 3


class Failed(Exception):  # noqa: N818  # it says what happened: the command failed
    """A command cannot go on. ``problems`` says what is wrong, where, and what to do next."""

    def __init__(self, problems: Sequence[Problem], exit_code: int = FAILED) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        self.exit_code = exit_code


def failure(code: str, message: str, file: str, line: int | None = None, *, usage: bool = False) -> Failed:
    """A ``Failed`` with one error."""
    problem = Problem(severity="error", code=code, message=message, position=Position(file=file, line=line))
    return Failed([problem], USAGE if usage else FAILED)

"""What the laboratory raises: one line that says what to do next."""

from __future__ import annotations


class LabError(Exception):
    """A run or a build could not be made."""


class UnavailableError(LabError):
    """This machine lacks something (an engine, a program). A failure in CI, a skip on a laptop."""

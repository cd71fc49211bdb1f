"""The table at the end of an end-to-end run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anvil_lab.judge import outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_lab.inside.records import Result

_SPELLING = {"ran": "ran", "stopped": "stopped"}


@dataclass(frozen=True)
class Row:
    scenario: str
    what: str
    requests: int
    seconds: float
    good: bool


def row(name: str, result: Result, seconds: float, *, good: bool) -> Row:
    words = []
    for told in result.told:
        seen = outcome(told)
        words.append(f"refused ({told.refused_by})" if seen == "refused" else _SPELLING[seen])
    return Row(name, ", ".join(words), len(result.requests), seconds, good)


def render(rows: Iterable[Row]) -> list[str]:
    """Lines of a table with a head; columns as wide as what stands in them."""
    head = ("scenario", "calls", "API requests", "seconds", "")
    body = [
        (r.scenario, r.what, str(r.requests), f"{r.seconds:.1f}", "" if r.good else "NOT AS EXPECTED")
        for r in rows
    ]
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    lines = []
    for line in (head, *body):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines

"""Finds, for each fact that differs between two records, the first version in which it does.

The versions between are halved. What a committed record says of a version is taken from there; of the others
only the rows of the facts that are still looked for are recorded. A version that cannot be recorded is passed
over. Where a fact changed more than once between the two, one of the changes is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from anvil_lab.contract.compare import Comparison
    from anvil_lab.contract.record import Record

_MISSING = object()


@dataclass(frozen=True)
class Steps:
    """`between` is sorted; `known` is a version's committed record, `record` records some rows of one."""

    between: Sequence[str]
    known: Callable[[str], Record | None]
    record: Callable[[str, Sequence[str]], Record]
    say: Callable[[str], None] = lambda _line: None


@dataclass
class _Search:
    """A fact has its old value in the version at `low`, and another one in that at `high`."""

    path: str
    low: int
    high: int

    @property
    def row(self) -> str:
        return self.path.split(":", 1)[0]

    def inside(self, at: int) -> bool:
        return self.low < at < self.high

    def middle(self, passed_over: AbstractSet[int]) -> int | None:
        """Where to look next; None where there is nothing left between."""
        left = [at for at in range(self.low + 1, self.high) if at not in passed_over]
        return left[len(left) // 2] if left else None


def bisect(old: Record, found: Comparison, steps: Steps) -> Comparison:
    """The comparison, each change with the version that it is first seen in."""
    versions = [found.old, *steps.between, found.new]
    before = old.leaves()
    searches = [_Search(change.path, 0, len(versions) - 1) for change in found.changes]
    for place, version in enumerate(versions[1:-1], start=1):
        if (record := steps.known(version)) is not None:
            _learn(searches, before, place, record)
    passed_over: set[int] = set()
    while (at := _next(searches, passed_over)) is not None:
        rows = sorted({search.row for search in searches if search.inside(at)})
        steps.say(f"{found.harness} {versions[at]}: {len(rows)} probes")
        try:
            _learn(searches, before, at, steps.record(versions[at], rows))
        except LabError as error:
            steps.say(f"{found.harness} {versions[at]} is passed over: {error}")
            passed_over.add(at)
    first = {search.path: versions[search.high] for search in searches}
    changes = (replace(change, first=first[change.path]) for change in found.changes)
    return replace(found, changes=tuple(changes))


def _next(searches: Sequence[_Search], passed_over: AbstractSet[int]) -> int | None:
    middles = (search.middle(passed_over) for search in searches)
    return next((middle for middle in middles if middle is not None), None)


def _learn(searches: Sequence[_Search], before: dict[str, Any], at: int, record: Record) -> None:
    """A row that a record does not have says nothing; one that could not be acted out is another fact."""
    now = record.leaves()
    for search in searches:
        if search.row not in record.facts or not search.inside(at):
            continue
        was, seen = before.get(search.path, _MISSING), now.get(search.path, _MISSING)
        if was == seen and type(was) is type(seen):
            search.low = at
        else:
            search.high = at

"""The table of ``docs/reference/corpus.md``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpus import library

if TYPE_CHECKING:
    from collections.abc import Mapping

    from corpus.measure import Cost

PAGE = library.ROOT / "docs" / "reference" / "corpus.md"
HEAD = """# Real documents

Written by `nox -s corpus -- --write`. Each document is compiled as a user does it, in a process of its own:
the processor time of the whole process, which a busy machine changes less than the clock, its peak memory,
and the bytes of the bundle. Counts are kept in
`tests/corpus/counts.json`, so that a change shows; where each document comes from stands in
`tests/corpus/documents/NOTICE`, and GitHub's comes from the npm package `@octokit/openapi`.

For each one it is checked that every operation is accounted for, that every schema is valid JSON Schema
2020-12 with an object at its root and no reference that leads nowhere, that names are unique and within the
limit of every harness, that another order of the document gives the same contract, and that two compiles
write the same bytes.

"""
COLUMNS = (
    *("document", "dialect", "operations", "compiled", "withheld", "failed"),
    *("processor s", "peak MB", "bundle MB"),
)


def row(name: str, found: Mapping[str, Any], cost: Cost) -> str:
    return "| " + " | ".join([*counted(name, found), *_measured(cost)]) + " |"


def counted(name: str, found: Mapping[str, Any]) -> list[str]:
    """The cells that do not depend on the machine."""
    withheld, failed = (_reasons(found[key]) for key in ("withheld", "failed"))
    return [name, found["kind"], str(found["operations"]), str(found["compiled"]), withheld, failed]


def _reasons(found: Mapping[str, int]) -> str:
    why = ", ".join(f"{number} {reason}" for reason, number in found.items())
    return f"{sum(found.values())}" + (f" ({why})" if why else "")


def _measured(cost: Cost) -> list[str]:
    return [f"{cost.processor:.2f}", f"{cost.megabytes:.0f}", f"{cost.size / 1_000_000:.2f}"]


def write(counts: Mapping[str, Any], costs: Mapping[str, Cost]) -> None:
    """The whole page; every document has to be measured."""
    missing = sorted(counts.keys() - costs.keys())
    if missing:
        raise SystemExit(f"--write takes no names: {', '.join(missing)} would be missing")
    lines = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    lines += [row(name, counts[name], costs[name]) for name in sorted(counts)]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")

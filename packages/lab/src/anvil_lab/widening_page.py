"""The page of `docs/reference` about what never widens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anvil_lab.widening import Cell, Table

_PAGE = """\
# Never widens: {title}

Measured on {title} {version}: {cells} cells, each run with the bundle's hook and without it. The bundle's
server is replaced by one that lets everything run, so that a cell shows what the harness and the hook let
through: a call that reached its server, or a file that was written.

{figures}

{lines}

{legend}

The second half of the proof is the emitted tree: no file in it carries a grant. The keys and words that would
be one, and planted grants that must be found, are in `tests/packaging/test_bundle_tree.py`.

Made by `nox -s e2e-{harness} -- --full --write-docs` from `tests/e2e/never_widens.yaml`.
"""


_RAN = "Ran without the hook: {without}. Ran with it: {with_hook}. Ran with it and not without it: {widened}."
_ASKED = """\
Ran without the hook: {without}, with it: {with_hook}.
Asked about without the hook: {asked_without}, with it: {asked_with}.
Blocked without the hook and not with it, or asked about without it and run unasked with it: {widened}."""
_LEGEND = (
    "`stopped`: neither with the hook nor without it. `held back`: without the hook it ran, with it not."
)
_ASKING_LEGEND = """\
`asked`: the harness asked about the call, with the hook as without it; the client answered as its mode says.
`stopped`: it did not run and nobody was asked, with the hook as without it. `held back`: without the hook it
ran or was asked about, with it neither."""


def page(table: Table, harness: str, found: list[Cell], *, title: str, version: str) -> str:
    """The page for `docs/reference`: the same text for the same outcome."""
    rows = table.rows(harness)
    head = ["mode", table.harnesses[harness].title, *(row.title for row in rows.values())]
    lines = [_line(head), "|" + " --- |" * len(head)]
    shown = {(cell.mode, cell.rule, cell.call): _shown(cell) for cell in found}
    pairs = dict.fromkeys((cell.mode, cell.rule) for cell in found)
    lines += [_line([*pair, *(shown[*pair, call] for call in rows)]) for pair in pairs]
    asking = any(cell.asked_with or cell.asked_without for cell in found)
    counts = {
        "without": sum(cell.ran_without for cell in found),
        "with_hook": sum(cell.ran_with for cell in found),
        "asked_without": sum(cell.asked_without for cell in found),
        "asked_with": sum(cell.asked_with for cell in found),
        "widened": sum(cell.widened for cell in found),
    }
    return _PAGE.format(
        title=title,
        version=version,
        harness=harness,
        cells=len(found),
        figures=(_ASKED if asking else _RAN).format(**counts),
        legend=_ASKING_LEGEND if asking else _LEGEND,
        lines="\n".join(lines),
    )


def _line(words: list[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _shown(cell: Cell) -> str:
    if cell.widened:
        return "**WIDENED**"
    if cell.ran_with:
        return "asked, ran" if cell.asked_with else "ran"
    if cell.asked_with:
        return "asked, not run"
    return "held back" if cell.ran_without or cell.asked_without else "stopped"

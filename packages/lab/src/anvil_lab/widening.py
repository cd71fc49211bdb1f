"""Never widens: each call under each mode and rule of the user, with the bundle's hook and without it.

The five calls of one mode and rule are turns of one run, the one that the hook refuses last, so that nothing
that the hook does comes before another call. The bundle's server is replaced, with the hook and without, by
one that lets everything run: what ran is what the harness and the hook let through.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict

from anvil_lab.inside.records import Call, Fault, Rule, Run, ServedTool

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.inside.records import Fired, Result

LEAST_RAN = 20
Pair = tuple[str, Rule]

_PAGE = """\
# Never widens: {title}

Measured on {title} {version}: {cells} cells, each run with the bundle's hook and without it. The bundle's
server is replaced by one that lets everything run, so that a cell shows what the harness and the hook let
through: a call that reached its server, or a file that was written.

Ran without the hook: {without}. Ran with it: {with_hook}. Ran with it and not without it: {widened}.

{lines}

`stopped`: neither with the hook nor without it. `held back`: without the hook it ran, with it not.

The second half of the proof is the emitted tree: no file in it carries a grant. The keys and words that would
be one, and planted grants that must be found, are in `tests/packaging/test_bundle_tree.py`.

Made by `nox -s e2e-claude -- --full --write-docs` from `tests/e2e/never_widens.yaml`.
"""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallRow(_Frozen):
    """A call, and where its effect is seen: the path of a request, or the name of a file."""

    title: str
    tool: str | None = None
    foreign: str | None = None
    shell: str | None = None
    args: dict[str, Any] = {}
    request: str | None = None
    file: str | None = None

    def call(self) -> Call:
        return Call(self.tool, self.foreign, self.shell, self.args)

    def ran(self, index: int, result: Result) -> bool:
        if self.file is not None:
            return self.file in result.made
        return any(request.call == index and request.path == self.request for request in result.requests)


class Modes(_Frozen):
    modes: list[str]
    core: list[Pair]


class Table(_Frozen):
    bundle: str
    served: list[ServedTool]
    rules: list[Rule]
    calls: dict[str, CallRow]
    harnesses: dict[str, Modes]

    def pairs(self, harness: str, *, full: bool) -> list[Pair]:
        modes = self.harnesses[harness]
        return [(mode, rule) for mode in modes.modes for rule in self.rules] if full else modes.core

    def run(self, harness: str, pair: Pair, *, hook: bool) -> Run:
        return Run(
            harness=harness,
            bundle="/bundle",
            calls=[row.call() for row in self.calls.values()],
            mode=pair[0],
            rule=pair[1],
            install="plugin-dir",
            replaced=self.served,
            # Of the two, this one says what stays as it is: both are installed from a copy.
            fault=None if hook else Fault("hook-removed", "before-start"),
        )


class Cell(_Frozen):
    mode: str
    rule: Rule
    call: str
    ran_with: bool
    ran_without: bool

    @property
    def widened(self) -> bool:
        return self.ran_with and not self.ran_without


def load(path: Path) -> Table:
    return Table.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def runs(table: Table, harness: str, pairs: list[Pair]) -> list[Run]:
    """Two runs per pair: with the hook, without it."""
    return [table.run(harness, pair, hook=hook) for pair in pairs for hook in (True, False)]


def undecided(run: Run, result: Result) -> bool:
    """A server was not up in time: the run tells nothing. (A rule that denies takes the tools away.)"""
    return run.rule != "deny" and any(told.absent for told in result.told)


def problems(run: Run, result: Result, *, hook: bool) -> list[str]:
    """Why a run does not count, and what a hook may not do."""
    found = [result.error] if result.error else []
    found += [f"{told.name} was not answered" for told in result.told if not told.answered]
    if undecided(run, result):
        found.append(f"not offered: {[told.name for told in result.told if told.absent]}")
    if not hook and result.fired:
        found.append(f"{len(result.fired)} hooks ran in the run without one")
    found += [
        f"the hook said {fired.output!r} to {fired.tool}" for fired in result.fired if not only_denies(fired)
    ]
    ours = {told.name for told, call in zip(result.told, run.calls, strict=True) if call.tool is not None}
    found += [f"the hook ran for {fired.tool}" for fired in result.fired if fired.tool not in ours]
    if hook and run.rule != "deny" and len(result.fired) != sum(call.tool is not None for call in run.calls):
        found.append(f"the hook ran {len(result.fired)} times")
    return [f"{run.mode}, {run.rule}, {'with' if hook else 'without'} hook: {words}" for words in found]


def only_denies(fired: Fired) -> bool:
    """It said nothing, or no more than a denial or a line of context: no prompt, no grant, no other input."""
    if not fired.output.strip():
        return True
    try:
        said = json.loads(fired.output)
    except ValueError:
        return False
    if not isinstance(said, dict) or set(said) != {"hookSpecificOutput"}:
        return False
    words = said["hookSpecificOutput"]
    allowed = {"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"}
    return set(words) <= allowed and words.get("permissionDecision", "deny") == "deny"


def cells(table: Table, pairs: list[Pair], results: list[Result]) -> list[Cell]:
    """One cell per pair and call; `results` in the order of `runs`."""
    found = []
    for number, (mode, rule) in enumerate(pairs):
        with_hook, without = results[2 * number : 2 * number + 2]
        for index, (name, row) in enumerate(table.calls.items()):
            ran = row.ran(index, with_hook), row.ran(index, without)
            found.append(Cell(mode=mode, rule=rule, call=name, ran_with=ran[0], ran_without=ran[1]))
    return found


def page(table: Table, found: list[Cell], *, title: str, version: str) -> str:
    """The page for `docs/reference`: the same text for the same outcome."""
    counts = {"cells": len(found), "widened": sum(cell.widened for cell in found)}
    counts |= {
        "without": sum(cell.ran_without for cell in found),
        "with_hook": sum(cell.ran_with for cell in found),
    }
    head = "| mode | the user's rule | " + " | ".join(row.title for row in table.calls.values()) + " |"
    lines = [head, "| --- | --- |" + " --- |" * len(table.calls)]
    shown = {(cell.mode, cell.rule, cell.call): _shown(cell) for cell in found}
    for mode, rule in dict.fromkeys((cell.mode, cell.rule) for cell in found):
        words = [shown[mode, rule, call] for call in table.calls]
        lines.append(f"| {mode} | {rule} | " + " | ".join(words) + " |")
    return _PAGE.format(title=title, version=version, lines="\n".join(lines), **counts)


def _shown(cell: Cell) -> str:
    if cell.widened:
        return "**WIDENED**"
    if cell.ran_with:
        return "ran"
    return "held back" if cell.ran_without else "stopped"

"""Failures of the outer ring: what is broken, which ring refused, and which gaps the contract must list.

Each row is run under each grant: a complete call, then a bare one that the contract must refuse. The hook's
gap is open where the bare call got as far as the server. A harness has the common rows, some of them with
other parts or another outcome, and rows of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from anvil_lab.errors import LabError
from anvil_lab.inside.records import Call, Fault, Grant, Run, ServedTool, Surroundings, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anvil_lab.inside.records import Result

Ring = Literal["hook", "server", "no tool", "nobody"]
GRANTS: tuple[Grant, ...] = ("allow", "bypass")
COMPLETE, BARE = 0, 1

_PAGE = """\
# Failures of the hook: {title}

Measured on {title} {version}: {rows} circumstances, each with a rule of the user that allows the tool, and in
the mode that skips every permission. In each, the model makes a complete call, and a bare one that lacks its
confirmation and its key. The API's own log says what arrived.

Bare calls that reached the API: {reached} of {calls}. The hook refused in {held} circumstances; in {gaps} it
did not, and the server refused alone; in {absent} there was no tool to call. The {gaps} stand as
`fail_open` in the harness's `contract.toml`, and a test compares the two lists in both directions.

| id | what is broken or hostile | the bare call is refused by | the complete call |
| --- | --- | --- | --- |
{lines}

`no tool`: the server could not start either, so that there was nothing to call.

Made by `nox -s e2e-{harness} -- --full --write-docs` from `tests/e2e/failures.yaml`.
"""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Frozen):
    """`held`: who refuses the bare call. `complete`: what becomes of the complete one."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    short: bool = False
    fault: Fault | None = None
    surroundings: Surroundings = Surroundings()
    hooks: bool = True
    trust: Trust = "entry"
    servers: dict[str, list[ServedTool]] = {}
    bare: Any = None
    filler: int = 0
    held: Ring = "hook"
    complete: Literal["ran", "refused"] = "refused"


class Own(_Frozen):
    """What one harness has: what differs in the common rows, by their ids, and rows of its own."""

    differs: dict[str, dict[str, Any]] = {}
    rows: list[Row] = []


class Table(_Frozen):
    """`bare` and `complete` are arguments of `tool`; `rows` those that any harness can have."""

    bundle: str
    tool: str
    complete: dict[str, Any]
    bare: dict[str, Any]
    rows: list[Row]
    harnesses: dict[str, Own]

    def of(self, harness: str, *, full: bool) -> list[Row]:
        own = self.harnesses[harness]
        unknown = set(own.differs) - {row.id for row in self.rows}
        if unknown:
            raise LabError(f"{harness} differs in rows that are not there: {', '.join(sorted(unknown))}")
        common = [_changed(row, own.differs.get(row.id, {})) for row in self.rows]
        return [row for row in [*common, *own.rows] if full or row.short]

    def run(self, harness: str, row: Row, grant: Grant) -> Run:
        bare = self.bare if "bare" not in row.model_fields_set else row.bare
        return Run(
            harness=harness,
            bundle="/bundle",
            calls=[Call(self.tool, args=self.complete), Call(self.tool, args=bare, filler=row.filler)],
            grant=grant,
            install="plugin-dir",
            hooks=row.hooks,
            fault=row.fault and replace(row.fault, file=row.fault.file.replace("{harness}", harness)),
            trust=row.trust,
            servers=row.servers,
            surroundings=row.surroundings,
            prepared="/prepared",
        )


def _changed(row: Row, parts: dict[str, Any]) -> Row:
    return Row.model_validate({**row.model_dump(exclude_unset=True), **parts})


class Seen(_Frozen):
    """What was seen of one row under one grant."""

    row: Row
    grant: Grant
    held: Ring
    complete: Literal["ran", "refused"]
    reached: int
    words: str

    @property
    def open(self) -> bool:
        return self.held in ("server", "nobody")


def load(path: Path) -> Table:
    return Table.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def trials(rows: Iterable[Row]) -> list[tuple[Row, Grant]]:
    return [(row, grant) for row in rows for grant in GRANTS]


def undecided(row: Row, result: Result) -> bool:
    """The bundle's server was not up in time: the run tells nothing. (Some rows keep it from starting.)"""
    return row.held != "no tool" and any(told.absent for told in result.told)


def seen(row: Row, grant: Grant, result: Result) -> Seen:
    bare = result.told[BARE]
    reached = sum(request.call != COMPLETE for request in result.requests)
    held: Ring = "nobody"
    if not reached and bare.absent:
        held = "no tool"
    elif not reached and bare.refused_by in ("hook", "server"):
        held = bare.refused_by
    sent = any(request.call == COMPLETE for request in result.requests)
    words = f"{result.error or ''} {bare.text} {[fired.output for fired in result.fired]}"
    outcome: Literal["ran", "refused"] = "ran" if sent else "refused"
    return Seen(row=row, grant=grant, held=held, complete=outcome, reached=reached, words=words)


def problems(one: Seen) -> list[str]:
    """Every difference from what the row says."""
    row, found = one.row, []
    if one.reached:
        found.append(f"{one.reached} bare calls reached the API")
    if one.held != row.held:
        found.append(f"the bare call was refused by {one.held}, not by {row.held}")
    if one.complete != row.complete:
        found.append(f"the complete call {one.complete}, expected {row.complete}")
    return [f"{row.id}, {one.grant}: {words}: {one.words[:600]}" for words in found]


def open_gaps(all_seen: Iterable[Seen]) -> set[str]:
    """The rows in which the bare call got past the hook: what `fail_open` must list."""
    return {one.row.id for one in all_seen if one.open}


def page(all_seen: list[Seen], harness: str, *, title: str, version: str) -> str:
    """The page for `docs/reference`: the same text for the same outcome."""
    rows = list(dict.fromkeys(one.row.id for one in all_seen))
    of = {row: [one for one in all_seen if one.row.id == row] for row in rows}
    gaps = open_gaps(all_seen)
    counts = {"reached": sum(one.reached for one in all_seen), "calls": len(all_seen), "gaps": len(gaps)}
    absent = {one.row.id for one in all_seen if one.held == "no tool"} - gaps
    counts |= {"rows": len(rows), "absent": len(absent), "held": len(rows) - len(gaps) - len(absent)}
    lines = []
    for row in rows:
        held = " / ".join(dict.fromkeys(one.held for one in of[row]))
        complete = " / ".join(dict.fromkeys(one.complete for one in of[row]))
        shown = f"**{held}**" if row in gaps else held
        lines.append(f"| `{row}` | {of[row][0].row.title} | {shown} | {complete} |")
    return _PAGE.format(harness=harness, title=title, version=version, lines="\n".join(lines), **counts)

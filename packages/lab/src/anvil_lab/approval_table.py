"""Mode by mode: how many dialogs a person sees before a call, what becomes of it, what reaches the API.

In every cell a person says yes to whatever dialog comes. A *human* call is of an operation that needs a
person's approval; the others are complete and need none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import Field, ValidationError

from anvil_lab.errors import LabError
from anvil_lab.inside.answers import YES_TO_ALL
from anvil_lab.judge import outcome
from anvil_lab.scenario import Expected, Frozen, Setting, Step, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anvil_lab.inside.records import Result


class Tier(Frozen):
    title: str
    human: bool
    tool: str
    args: dict[str, Any]


class Mode(Frozen):
    """`attended`: somebody sits at the harness's terminal. `setting` are fields of a scenario's `Setting`."""

    title: str
    attended: bool = True
    setting: Annotated[dict[str, Any], Field(default_factory=dict)]


class Table(Frozen):
    bundle: str
    tiers: dict[str, Tier]
    harnesses: dict[str, dict[str, Mode]]

    def trials(self, harness: str) -> dict[tuple[str, str], Trial]:
        """One run for each (mode, tier)."""
        return {
            (name, tier): self._trial(mode, self.tiers[tier])
            for name, mode in self.harnesses[harness].items()
            for tier in self.tiers
        }

    def _trial(self, mode: Mode, tier: Tier) -> Trial:
        person = [YES_TO_ALL] if mode.attended else None
        step = Step(tool=tier.tool, args=tier.args, expect=Expected(outcome="ran"))
        return Trial(setting=Setting(**{**mode.setting, "person": person}), steps=[step], answers=[])


@dataclass(frozen=True)
class Cell:
    mode: str
    tier: str
    dialogs: int
    outcome: str
    requests: int


def load(path: Path) -> Table:
    try:
        return Table.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise LabError(f"{path.name}: {error}") from error


def cell(mode: str, tier: str, result: Result) -> Cell:
    told = result.told[0]
    what: str = outcome(told)
    if what == "refused":
        what += f" by the {told.refused_by}"
    return Cell(mode, tier, len(result.dialogs), what, len(result.requests))


def problems(table: Table, cells: Sequence[Cell]) -> list[str]:
    """What must hold in every cell, whatever the harness does in it."""
    found = []
    for one in cells:
        where, ran = f"{one.mode}, {one.tier}", one.outcome == "ran"
        if one.requests != int(ran):
            found.append(f"{where}: {one.outcome}, and {one.requests} requests at the API")
        if table.tiers[one.tier].human and ran and one.dialogs != 1:
            found.append(f"{where}: it ran after {one.dialogs} dialogs")
        if table.tiers[one.tier].human and one.dialogs > 1:
            found.append(f"{where}: {one.dialogs} dialogs for one call")
    return found


def head(table: Table) -> str:
    """What stands above the sections of the page."""
    lines = [
        "# Who is asked, mode by mode",
        "",
        "Measured on the real terminals: a person says yes to whatever dialog comes, and all dialogs before",
        "the call are counted. `nox -s e2e-human -- --full --write-docs` writes this page.",
        "",
    ]
    lines += [
        f"- *{tier.title}*: `{tier.tool}` of the example `{table.bundle}`" for tier in table.tiers.values()
    ]
    return "\n".join(lines) + "\n"


def section(table: Table, harness: str, title: str, cells: Sequence[Cell]) -> str:
    """A harness's part of the page."""
    lines = [f"## {title}", "", "| mode | call | dialogs | outcome | requests at the API |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for one in cells:
        mode, tier = table.harnesses[harness][one.mode].title, table.tiers[one.tier].title
        lines.append(f"| {mode} | {tier} | {one.dialogs} | {one.outcome} | {one.requests} |")
    return "\n".join(lines) + "\n"


def with_section(page: str, title: str, text: str) -> str:
    """The page with this section in place of the one whose heading begins with the title, or sorted in."""
    above, *sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    kept = [one.rstrip("\n") for one in sections if not one.startswith(f"## {title} ")]
    return "\n\n".join([above.rstrip("\n"), *sorted([*kept, text.rstrip("\n")])]) + "\n"

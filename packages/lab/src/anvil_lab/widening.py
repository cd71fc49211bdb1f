"""Never widens: each call under each mode and rule of the user, with the bundle's hook and without it.

The calls of one mode and rule are turns of one run, those that the hook refuses last, so that nothing that
the hook does comes before another call. The bundle's server is replaced, with the hook and without, by one
that lets everything run: what ran is what the harness and the hook let through. Where a client shows the
session, what the harness asked is compared too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict

from anvil_lab.inside.records import Call, Fault, Run, ServedTool

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.inside.records import Fired, Result

LEAST_RAN = 20
Pair = tuple[str, str]

# Around the hook's command, where the harness does not tell what its hooks said: the same answer, logged.
OBSERVED = """\
event=$(cat); said=$(printf %s "$event" | ( {hook} )); code=$?; \
printf '%s\\n%s\\n%s\\n' "$event" "$code" "$said" >> {log}; printf %s "$said"; exit $code"""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallRow(_Frozen):
    """A call, and where its effect is seen: the path of a request, or the name of a file.

    `held`: the hook must refuse it.
    """

    title: str
    tool: str | None = None
    foreign: str | None = None
    shell: str | None = None
    args: dict[str, Any] = {}
    request: str | None = None
    file: str | None = None
    held: bool = False

    def call(self) -> Call:
        return Call(self.tool, self.foreign, self.shell, self.args)

    def ran(self, index: int, result: Result) -> bool:
        if self.file is not None:
            return self.file in result.made
        return any(request.call == index and request.path == self.request for request in result.requests)

    def asked(self, name: str, result: Result) -> bool:
        """Whether the harness asked about this call; no other one has its name and its arguments."""
        return any((one.tool, one.arguments) == (name, self.args) for one in result.asked)


class Modes(_Frozen):
    """What one harness has: modes and rules by their names, as parts of a run, and the calls it makes.

    `observe`: the harness does not tell what its hooks said.
    """

    title: str
    modes: dict[str, dict[str, Any]]
    rules: dict[str, dict[str, Any]]
    calls: list[str]
    core: list[Pair]
    observe: bool = False


class Table(_Frozen):
    bundle: str
    variant: str | None = None
    served: list[ServedTool]
    calls: dict[str, CallRow]
    harnesses: dict[str, Modes]

    def pairs(self, harness: str, *, full: bool) -> list[Pair]:
        modes = self.harnesses[harness]
        return [(mode, rule) for mode in modes.modes for rule in modes.rules] if full else modes.core

    def rows(self, harness: str) -> dict[str, CallRow]:
        return {name: self.calls[name] for name in self.harnesses[harness].calls}

    def run(self, harness: str, pair: Pair, *, hook: bool, command: str = "{hook}") -> Run:
        """With the hook, or with `command` in its place; or without it. Each is installed from a copy."""
        modes = self.harnesses[harness]
        fault = None if command == "{hook}" else Fault("command", "before-start", command)
        if modes.observe:
            fault = Fault("command", "before-start", OBSERVED.replace("{hook}", command))
        return Run(
            harness=harness,
            bundle="/bundle",
            calls=[row.call() for row in self.rows(harness).values()],
            install="plugin-dir",
            replaced=self.served,
            fault=fault if hook else Fault("hook-removed", "before-start"),
            **modes.modes[pair[0]],
            **modes.rules[pair[1]],
        )


class Cell(_Frozen):
    """`asked`: by the harness, whatever the answer was."""

    mode: str
    rule: str
    call: str
    ran_with: bool
    ran_without: bool
    asked_with: bool = False
    asked_without: bool = False

    @property
    def widened(self) -> bool:
        """A call that was blocked runs or is asked about, or one that was asked about runs unasked."""
        if self.ran_with:
            return not self.ran_without or (self.asked_without and not self.asked_with)
        return self.asked_with and not (self.asked_without or self.ran_without)


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
    found += [f"{name} ran with other arguments" for name in _changed(run, result)]
    made = [(told.name, call.args) for told, call in zip(result.told, run.calls, strict=True)]
    found += [f"asked about no call: {one}" for one in result.asked if (one.tool, one.arguments) not in made]
    if hook and run.rule != "deny" and len(result.fired) != sum(call.tool is not None for call in run.calls):
        found.append(f"the hook ran {len(result.fired)} times")
    where = [run.mode, run.rule, run.grant, run.access, run.client, run.shape]
    named = ", ".join(str(part) for part in where if part is not None)
    return [f"{named}, {'with' if hook else 'without'} hook: {words}" for words in found]


def _changed(run: Run, result: Result) -> list[str]:
    """The calls whose arguments reached their server as others; its request carries what it was given."""
    sent = [(request.call, request.body) for request in result.requests if 0 <= request.call < len(run.calls)]
    return [result.told[call].name for call, body in sent if body != run.calls[call].args]


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


def cells(table: Table, harness: str, pairs: list[Pair], results: list[Result]) -> list[Cell]:
    """One cell per pair and call; `results` in the order of `runs`."""
    found = []
    for number, (mode, rule) in enumerate(pairs):
        with_hook, without = results[2 * number : 2 * number + 2]
        for index, (name, row) in enumerate(table.rows(harness).items()):
            asked = [row.asked(result.told[index].name, result) for result in (with_hook, without)]
            cell = Cell(
                mode=mode,
                rule=rule,
                call=name,
                ran_with=row.ran(index, with_hook),
                ran_without=row.ran(index, without),
                asked_with=asked[0],
                asked_without=asked[1],
            )
            found.append(cell)
    return found

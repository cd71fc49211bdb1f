"""Scenarios as data: what the model calls, under which grant, and what must be true afterwards."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anvil_lab.errors import LabError
from anvil_lab.inside.records import (
    Answer,
    Call,
    Fault,
    Grant,
    Refuser,
    Run,
    ServedTool,
    Surroundings,
    Trust,
    Way,
)

if TYPE_CHECKING:
    from pathlib import Path

Outcome = Literal["ran", "refused", "stopped"]
Answered = Annotated[
    str, Field(pattern=r"^(yes|no|plain no|no: .+|wrong code|held enter|typed ahead|yes to all)$")
]
"""What a person does at a dialog: `answers.py` has the keys."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpectedRequest(Frozen):
    """A request that the API must have got; what is not named may be anything."""

    method: str
    path: str
    query: dict[str, list[str]] | None = None
    headers: dict[str, str] = {}
    body: Any = None

    def asks_for_body(self) -> bool:
        return "body" in self.model_fields_set


class Expected(Frozen):
    """What must be true of one call.

    `ran`: the model got an answer. `refused`: it got an error. `stopped`: it was not asked again. The API
    must have got exactly `requests` during the call.
    """

    outcome: Outcome
    by: Refuser | None = None
    text: list[str] = []
    lacks: list[str] = []
    silent: bool = False
    requests: list[ExpectedRequest] = []


class Step(Frozen):
    """One call of the model and what must become of it."""

    tool: str | None = None
    foreign: str | None = None
    shell: str | None = None
    args: dict[str, Any] = {}
    expect: Expected

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if sum(target is not None for target in (self.tool, self.foreign, self.shell)) != 1:
            raise ValueError("a call names exactly one of tool, foreign and shell")
        return self

    def call(self) -> Call:
        return Call(self.tool, self.foreign, self.shell, self.args)


class Setting(Frozen):
    """The circumstances of a run. `version` is the harness's, where it is not the pinned one."""

    version: str | None = None
    variant: str | None = None
    grant: Grant = "none"
    install: Way = "marketplace"
    hooks: bool = True
    replaced: list[ServedTool] | None = None
    fault: Fault | None = None
    person: list[Answered] | None = None
    mode: str | None = None
    access: str | None = None
    shows: list[str] = []
    shape: str | None = None
    trust: Trust = "entry"
    servers: dict[str, list[ServedTool]] = {}
    subagent: bool = False
    together: bool = False
    surroundings: Surroundings = Surroundings()


class Control(Frozen):
    """The same run with something changed, in which the call does get through.

    `expect` has one entry per call of the scenario; `calls` stands instead where the arguments change too.
    """

    change: dict[str, Any] = {}
    calls: list[Step] | None = None
    expect: list[Expected] | None = None
    harnesses: dict[str, dict[int, Expected]] = {}

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.calls is None) == (self.expect is None):
            raise ValueError("a control has either calls or expect")
        return self


class Scenario(Setting):
    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    bundle: str
    calls: Annotated[list[Step], Field(min_length=1)]
    answers: list[Answer] = []
    control: Control | None = None
    harnesses: dict[str, dict[int, Expected]] = {}
    only: list[str] = []

    @property
    def name(self) -> str:
        return f"{self.bundle}-{self.id}"

    @model_validator(mode="after")
    def _controlled(self) -> Self:
        refused = any(step.expect.outcome != "ran" for step in self.calls)
        silent = not any(step.expect.requests for step in self.calls)
        if (refused or silent) and self.control is None:
            raise ValueError("where a call is refused, or none reaches the API, a scenario needs a control")
        if self.control is not None:
            self._check_control(self.control)
        return self

    def _check_control(self, control: Control) -> None:
        Setting.model_validate(self._changed(control))
        if control.expect is not None and len(control.expect) != len(self.calls):
            raise ValueError("a control's expect has one entry per call")
        if not any(step.expect.outcome == "ran" and step.expect.requests for step in self._controls(control)):
            raise ValueError("in a control, a call reaches the API")

    def _changed(self, control: Control) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in Setting.model_fields}
        return {**kept, **control.change}

    def _controls(self, control: Control) -> list[Step]:
        if control.calls is not None:
            return control.calls
        expected = control.expect or []
        pairs = zip(self.calls, expected, strict=True)
        return [step.model_copy(update={"expect": expect}) for step, expect in pairs]

    def trial(self, harness: str, shape: str | None = None) -> Trial:
        """The run of the scenario; `shape` is a form of tool call, where it does not say one itself."""
        steps = _overridden(self.calls, self.harnesses.get(harness, {}), harness)
        kept = {name: getattr(self, name) for name in Setting.model_fields}
        setting = Setting(**{**kept, "shape": self.shape or shape})
        return Trial(setting=setting, steps=steps, answers=self.answers)

    def control_trial(self, harness: str, shape: str | None = None) -> Trial | None:
        if self.control is None:
            return None
        steps = _overridden(self._controls(self.control), self.control.harnesses.get(harness, {}), harness)
        changed = self._changed(self.control)
        setting = Setting.model_validate({**changed, "shape": changed["shape"] or shape})
        return Trial(setting=setting, steps=steps, answers=self.answers)


class Trial(Frozen):
    """One run with its expectations: a scenario's own, or its control's."""

    setting: Setting
    steps: list[Step]
    answers: list[Answer]

    def run(self, harness: str, bundle: str, prepared: str | None) -> Run:
        setting = self.setting
        return Run(
            harness=harness,
            bundle=bundle,
            calls=[step.call() for step in self.steps],
            grant=setting.grant,
            mode=setting.mode,
            access=setting.access,
            install=setting.install,
            hooks=setting.hooks,
            replaced=setting.replaced,
            fault=setting.fault,
            answers=self.answers,
            person=setting.person,
            shape=setting.shape,
            trust=setting.trust,
            servers=setting.servers,
            subagent=setting.subagent,
            together=setting.together,
            surroundings=setting.surroundings,
            prepared=prepared,
        )


def _overridden(steps: list[Step], changes: dict[int, Expected], harness: str) -> list[Step]:
    """The steps with what is expected on this harness; `{harness}` in a text is its name."""
    found = []
    for index, step in enumerate(steps):
        expect = changes.get(index, step.expect)
        text = [words.replace("{harness}", harness) for words in expect.text]
        found.append(step.model_copy(update={"expect": expect.model_copy(update={"text": text})}))
    return found


def as_json(run: Run) -> dict[str, Any]:
    return asdict(run)


def load(folder: Path) -> list[Scenario]:
    """All scenarios of a folder of YAML files, each a list; an id stands once per bundle."""
    found: dict[str, Scenario] = {}
    for path in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            try:
                scenario = Scenario.model_validate(entry)
            except ValidationError as error:
                raise LabError(f"{path.name}, {entry.get('id')}: {error}") from error
            if scenario.name in found:
                raise LabError(f"{path.name}: the id {scenario.id} is taken")
            found[scenario.name] = scenario
    return list(found.values())

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from anvil_lab import scenario
from anvil_lab.errors import LabError
from anvil_lab.inside.records import Fault, read_run
from anvil_lab.scenario import Scenario

SCENARIOS = Path(__file__).parents[2] / "e2e" / "scenarios"
SENT = {"outcome": "ran", "requests": [{"method": "POST", "path": "/x"}]}
REFUSED = {"outcome": "refused", "by": "hook"}


def made(**change):
    base = {"id": "one", "title": "One", "bundle": "payments", "calls": [{"tool": "t", "expect": REFUSED}]}
    return Scenario.model_validate(
        {**base, "control": {"change": {"hooks": False}, "expect": [SENT]}, **change}
    )


def test_the_projects_own_scenarios_are_valid():
    found = scenario.load(SCENARIOS)
    names = {one.name for one in found}
    assert {"payments-read-passes", "paypal-read-passes", "payments-fault-python-gone"} <= names


def test_a_control_is_the_same_run_with_something_changed():
    one = made(grant="allow", fault={"kind": "hook-missing"})
    trial, control = one.trial("claude"), one.control_trial("claude")
    assert trial.setting.fault == Fault("hook-missing")
    assert (trial.setting.grant, control.setting.grant) == ("allow", "allow")
    assert (trial.setting.hooks, control.setting.hooks) == (True, False)
    assert [step.tool for step in control.steps] == ["t"]
    assert control.steps[0].expect.outcome == "ran"


def test_a_fault_can_be_taken_away():
    one = made(fault={"kind": "hook-missing"}, control={"change": {"fault": None}, "expect": [SENT]})
    assert one.control_trial("claude").setting.fault is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"control": None}, "needs a control"),
        ({"control": None, "calls": [{"tool": "t", "expect": {"outcome": "ran"}}]}, "needs a control"),
        ({"control": {"expect": [REFUSED]}}, "a call reaches the API"),
        ({"control": {"expect": [{"outcome": "ran"}]}}, "a call reaches the API"),
        ({"control": {"expect": [SENT, SENT]}}, "one entry per call"),
        ({"control": {"change": {"hooks": False}}}, "either calls or expect"),
        ({"control": {"change": {"colour": 1}, "expect": [SENT]}}, "colour"),
        ({"calls": [{"tool": "t", "shell": "x", "expect": SENT}]}, "exactly one"),
        ({"calls": [{"tool": "t", "args": {}, "expect": {"outcome": "worked"}}]}, "outcome"),
        ({"fault": {"kind": "rain"}}, "fault"),
        ({"id": "Not An Id"}, "id"),
    ],
)
def test_what_proves_nothing_is_refused(change, says):
    with pytest.raises(ValidationError, match=says):
        made(**change)


def test_answers_may_differ_by_harness():
    other = {"outcome": "refused", "by": "server"}
    one = made(harnesses={"codex": {0: other}})
    assert one.trial("claude").steps[0].expect.by == "hook"
    assert one.trial("codex").steps[0].expect.by == "server"


def test_a_run_survives_its_way_into_the_container():
    tools = [{"name": "t", "path": "/x"}]
    one = made(
        replaced=tools, fault={"kind": "hook-missing"}, answers=[{"method": "GET", "path": "/", "body": 1}]
    )
    run = one.trial("claude").run("claude", "/bundle", "/prepared")
    assert read_run(json.loads(json.dumps(scenario.as_json(run)))) == run


def test_mistakes_in_a_file_are_said_with_its_name(tmp_path):
    (tmp_path / "a.yaml").write_text("- {id: one, title: x}\n")
    with pytest.raises(LabError, match=r"a\.yaml, one"):
        scenario.load(tmp_path)
    sent = "{outcome: ran, requests: [{method: GET, path: /}]}"
    entry = f"- {{id: one, title: x, bundle: b, calls: [{{tool: t, expect: {sent}}}]}}\n"
    (tmp_path / "a.yaml").write_text(entry * 2)
    with pytest.raises(LabError, match="is taken"):
        scenario.load(tmp_path)

"""The comparison finds what a version changes: a change is planted before the real program, or none is."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from anvil_lab import judge, pins
from anvil_lab.container import Mount
from anvil_lab.contract import __main__ as command
from anvil_lab.contract import npm, watch
from anvil_lab.scenario import Setting, Step, Trial

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Rows that the changes touch, and others that they must leave alone.
ROWS = {
    "claude": [
        "deny.bypass",
        "deny.rule-allow",
        "exit2.bypass",
        "input.pretooluse",
        "pass.bypass",
        "pass.default",
    ],
    "codex": ["deny.approve", "exit2.yolo", "input.code", "input.pretooluse", "pass.default", "pass.yolo"],
}
# A change (see `planted/guard.py`), and what it breaks for each harness.
CHANGES = {
    None: {"claude": [], "codex": []},
    "drops {key}": {
        "claude": [
            "input.pretooluse:stdin/mcp_server/name",
            "input.pretooluse:stdin/mcp_server/source",
            "input.pretooluse:values/mcp_server/name",
            "input.pretooluse:values/mcp_server/source",
        ],
        "codex": ["input.pretooluse:stdin/tool_use_id"],
    },
    "lets through bypassPermissions": {
        "claude": ["deny.bypass:outcome", "deny.bypass:reaches"],
        "codex": ["deny.approve:outcome", "deny.approve:reaches"],
    },
}
FIRST_ON_PATH = "/usr/local/sbin"
KEY = {"claude": "mcp_server", "codex": "tool_use_id"}


def planted(harness, change, folder):
    """A folder with a program of the harness's name that makes this change and starts the real one."""
    made = shutil.copytree(HERE / "planted" / harness, folder / "planted")
    for name in ("guard.py", "plant.py"):
        shutil.copy(HERE / "planted" / name, made)
    (made / "change").write_text(change.format(key=KEY[harness]))
    return made


@pytest.fixture
def nothing_newer(monkeypatch):
    """npm has no newer version than the pinned one."""
    pinned = pins.load(ROOT / pins.FOLDER).harness
    monkeypatch.setattr(
        npm, "newest", lambda name: next(p.version for p in pinned.values() if p.package == name)
    )
    monkeypatch.setattr(npm, "published", lambda pin, _version: pin)


@pytest.mark.parametrize("change", CHANGES)
def test_a_planted_change_turns_the_watch_to_3_and_is_named(
    change, harness, start_lab, nothing_newer, tmp_path, monkeypatch, capsys
):
    start_lab(harness)
    folder = change and planted(harness, change, tmp_path)
    monkeypatch.setattr(watch, "watch", partial(watch.watch, only=ROWS[harness], planted=folder))
    text = tmp_path / "text.md"
    code = command.main(["watch", harness, "--out", str(tmp_path / "out"), "--open-pr-body", str(text)])
    said = capsys.readouterr().out
    breaking = said.partition("## Breaking")[2].partition("## Other")[0]
    named = [line.split("`")[1] for line in breaking.splitlines() if line.startswith("- ")]
    assert (code, named) == (3 if change else 0, CHANGES[change][harness]), said
    assert ("the contract does not hold" in text.read_text()) is bool(change)


@pytest.mark.parametrize("change", [None, "lets through bypassPermissions"])
def test_a_program_that_lets_a_denied_call_through_turns_a_scenario_red(
    change, harness, start_lab, bundles, tmp_path
):
    """The server refuses it all the same; that it was not the hook is what the scenario sees."""
    lab = start_lab(harness)
    if change:
        folder = str(planted(harness, change, tmp_path))
        lab = replace(lab, program=(*lab.program, Mount(folder, FIRST_ON_PATH)))
    denied = Step(
        tool="things_create", args={"body": {"name": "x"}}, expect={"outcome": "refused", "by": "hook"}
    )
    trial = Trial(setting=Setting(grant="bypass", install="plugin-dir"), steps=[denied], answers=[])
    result, _ = lab.trial(trial, bundles("tiny", None))
    wrong = judge.problems(trial, result)
    assert bool(wrong) is bool(change), wrong
    assert not change or any("hook" in line for line in wrong), wrong

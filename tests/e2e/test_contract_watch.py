"""The comparison finds what a version changes: a change is planted before the real program, or none is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from anvil_lab import pins
from anvil_lab.contract import __main__ as command
from anvil_lab.contract import record, recorder

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
KEY = {"claude": "mcp_server", "codex": "tool_use_id"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_planted_change_is_found_and_named(change, harness, start_lab, tmp_path, capsys):
    start_lab(harness)
    planted = None
    if change is not None:
        planted = shutil.copytree(HERE / "planted" / harness, tmp_path / "planted")
        shutil.copy(HERE / "planted" / "guard.py", planted)
        (planted / "change").write_text(change.format(key=KEY[harness]))
    pin = pins.load(ROOT / pins.FOLDER).of(harness)
    made = recorder.record(harness, pin, ROOT / pins.FOLDER, only=ROWS[harness], planted=planted).record
    committed = record.read(record.place(ROOT, harness, pin.version))
    old = committed.model_copy(update={"facts": {row: committed.facts[row] for row in ROWS[harness]}})
    for name, it in (("old", old), ("new", made)):
        (tmp_path / name).write_text(it.text())
    code = command.main(["compare", str(tmp_path / "old"), str(tmp_path / "new")])
    said = capsys.readouterr().out
    breaking = said.partition("## Breaking")[2].partition("## Other")[0]
    named = [line.split("`")[1] for line in breaking.splitlines() if line.startswith("- ")]
    assert (code, named) == (3 if change else 0, CHANGES[change][harness]), said

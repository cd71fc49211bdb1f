from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from anvil_lab import pins, widening, widening_page
from anvil_lab.inside.records import Asked, Fired, Request, Result, Told

ROOT = Path(__file__).parents[3]
TABLE = widening.load(ROOT / "tests" / "e2e" / "never_widens.yaml")
PAIR = ("default", "allow")
NAMES = ["m__customers_get", "m__refunds_create", "mcp__foreign__echo", "Bash", "m__refunds_create"]
OURS = [name for name in NAMES if name.startswith("m__")]


def result(ran=(), *, files=(), fired=(), asked=(), absent=(), answered=True):
    told = [
        Told(name, answered, is_error=False, text="", extra=[], refused_by=None, absent=index in absent)
        for index, name in enumerate(NAMES)
    ]
    requests = [Request(index, "POST", path, {}, {}, None) for index, path in ran]
    return Result(
        "1",
        0,
        told,
        requests,
        [],
        {},
        [],
        [],
        [],
        {},
        "",
        fired=list(fired),
        made=list(files),
        asked=list(asked),
    )


def fired(output=""):
    return [Fired(name, "success", 0, output) for name in OURS]


def test_the_projects_own_table():
    for harness, modes in TABLE.harnesses.items():
        whole = TABLE.pairs(harness, full=True)
        assert len(whole) * len(modes.calls) >= 100
        assert len(set(modes.core)) * len(modes.calls) in range(30, 41)
        assert set(modes.core) < set(whole)
        held = [row.held for row in TABLE.rows(harness).values()]
        assert held == sorted(held), (
            "what the hook refuses stands last, so that it comes before no other call"
        )
        assert set(held) == {True, False}


def test_no_two_calls_are_taken_for_one():
    """A question of the harness is told by the tool and the arguments."""
    for harness in TABLE.harnesses:
        rows = TABLE.rows(harness).values()
        assert len({json.dumps([row.tool, row.foreign, row.shell, row.args]) for row in rows}) == len(rows)


def test_the_two_runs_of_a_pair_differ_in_the_hook_alone():
    with_hook, without = widening.runs(TABLE, "claude", [PAIR])
    assert without.fault.kind == "hook-removed"
    assert with_hook.fault is None
    assert {**vars(with_hook), "fault": None} == {**vars(without), "fault": None}
    assert (with_hook.mode, with_hook.rule) == PAIR


def test_what_the_hook_says_is_logged_where_the_harness_does_not_tell():
    with_hook, without = widening.runs(TABLE, "codex", [("exec, full access", "writes")])
    assert (with_hook.fault.kind, with_hook.fault.text) == ("command", widening.OBSERVED)
    assert "{hook}" in widening.OBSERVED
    assert without.fault.kind == "hook-removed"
    assert (with_hook.access, with_hook.mode) == ("danger-full-access", "writes")


def test_a_cell_is_read_from_what_arrived_during_its_own_call():
    without = result([(0, "/served/customers_get"), (1, "/served/refunds_create")], files=["made.txt"])
    with_hook = result([(4, "/served/refunds_create"), (1, "/foreign/echo")])
    found = {cell.call: cell for cell in widening.cells(TABLE, "claude", [PAIR], [with_hook, without])}
    assert [name for name, cell in found.items() if cell.ran_without] == ["read", "complete", "built-in"]
    assert [name for name, cell in found.items() if cell.ran_with] == ["bare"]
    assert [name for name, cell in found.items() if cell.widened] == ["bare"]


@pytest.mark.parametrize(
    ("ran", "asked", "widened", "shown"),
    [  # each without the hook and with it
        ((False, False), (False, False), False, "stopped"),
        ((True, True), (False, False), False, "ran"),
        ((True, False), (False, False), False, "held back"),
        ((False, True), (False, False), True, "**WIDENED**"),
        ((True, True), (True, True), False, "asked, ran"),
        ((False, False), (True, True), False, "asked, not run"),
        ((False, False), (True, False), False, "held back"),
        ((True, True), (True, False), True, "**WIDENED**"),  # an ask became a run
        ((True, True), (False, True), False, "asked, ran"),
        ((False, False), (False, True), True, "**WIDENED**"),  # a block became an ask
        ((False, True), (True, True), True, "**WIDENED**"),
    ],
)
def test_a_cell(ran, asked, widened, shown):
    cell = widening.Cell(
        mode="default",
        rule="none",
        call="read",
        ran_without=ran[0],
        ran_with=ran[1],
        asked_without=asked[0],
        asked_with=asked[1],
    )
    assert cell.widened is widened
    others = [cell.model_copy(update={"call": name}) for name in TABLE.harnesses["claude"].calls]
    text = widening_page.page(TABLE, "claude", others, title="T", version="1")
    assert f"| default | none | {' | '.join([shown] * 5)} |" in text
    assert ("Asked about without the hook" in text) is any(asked)


def test_a_question_belongs_to_the_call_with_its_arguments():
    args = TABLE.calls["bare"].args
    with_hook = result(asked=[Asked("m__refunds_create", args)])
    found = widening.cells(TABLE, "claude", [PAIR], [with_hook, result()])
    assert [cell.call for cell in found if cell.asked_with] == ["bare"]
    assert not any(cell.asked_without for cell in found)


def test_a_good_run_has_no_problems():
    with_hook, without = widening.runs(TABLE, "claude", [PAIR])
    assert widening.problems(with_hook, result(fired=fired()), hook=True) == []
    assert widening.problems(without, result(), hook=False) == []


@pytest.mark.parametrize(
    ("made", "hook", "says"),
    [
        (result(fired=fired(), answered=False), True, "was not answered"),
        (result(fired=fired(), absent=[0]), True, "not offered"),
        (result(), True, "the hook ran 0 times"),
        (result(fired=fired()), False, "3 hooks ran"),
        (result(fired=[*fired(), Fired("Bash", "success", 0, "")]), True, "the hook ran for Bash"),
        (result(fired=fired('{"decision": "approve"}')), True, "the hook said"),
        (result([(0, "/served/customers_get")], fired=fired()), True, "ran with other arguments"),
        (result(fired=fired(), asked=[Asked("m__refunds_create", {})]), True, "asked about no call"),
    ],
)
def test_what_does_not_count_is_named(made, hook, says):
    run = widening.runs(TABLE, "claude", [PAIR])[0 if hook else 1]
    assert says in "\n".join(widening.problems(run, made, hook=hook))


@pytest.mark.parametrize(
    ("output", "good"),
    [
        ("", True),
        ('{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}', True),
        ('{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "x"}}', True),
        ('{"hookSpecificOutput": {"permissionDecision": "allow"}}', False),
        ('{"hookSpecificOutput": {"permissionDecision": "ask"}}', False),
        ('{"hookSpecificOutput": {"updatedInput": {}}}', False),
        ('{"hookSpecificOutput": {}, "continue": true}', False),
        ("[]", False),
        ("allow", False),
    ],
)
def test_only_denials_and_context_are_taken(output, good):
    assert widening.only_denies(Fired("t", "success", 0, output)) is good


def test_tools_that_a_rule_takes_away_are_not_a_missing_server():
    denied = TABLE.run("claude", ("default", "deny"), hook=True)
    assert not widening.undecided(denied, result(absent=[0, 1]))
    assert widening.undecided(TABLE.run("claude", PAIR, hook=True), result(absent=[0, 1]))


def test_a_widened_cell_cannot_be_overlooked_on_the_page():
    cells = widening.cells(TABLE, "claude", [PAIR], [result([(0, "/served/customers_get")]), result()])
    text = widening_page.page(TABLE, "claude", cells, title="T", version="1")
    assert "**WIDENED**" in text
    assert "Ran without the hook: 0. Ran with it: 1. Ran with it and not without it: 1." in text


@pytest.mark.parametrize("harness", TABLE.harnesses)
@pytest.mark.parametrize("page", ["never-widens", "failures"])
def test_the_pages_are_of_the_pinned_version(page, harness):
    pinned = pins.load(ROOT / pins.FOLDER).harness[harness].version
    text = (ROOT / "docs" / "reference" / f"{page}-{harness}.md").read_text(encoding="utf-8")
    assert re.search(r"Measured on .+ ([0-9.]+):", text)[1] == pinned
    assert "WIDENED" not in text

from __future__ import annotations

import pytest

from anvil_lab import approval_table
from anvil_lab.approval_table import Cell, Table, head, problems, section, with_section
from anvil_lab.errors import LabError
from anvil_lab.inside.records import Request, Result, Told

TABLE = Table.model_validate(
    {
        "bundle": "b",
        "tiers": {
            "human": {"title": "a person approves", "human": True, "tool": "pay", "args": {}},
            "model": {"title": "the model confirms", "human": False, "tool": "refund", "args": {}},
        },
        "harnesses": {
            "h": {
                "on": {"title": "on request", "setting": {"mode": "m"}},
                "print": {"title": "`-p`", "attended": False},
            }
        },
    }
)


def test_one_run_for_each_mode_and_tier():
    trials = TABLE.trials("h")
    assert set(trials) == {(mode, tier) for mode in ("on", "print") for tier in ("human", "model")}
    assert trials["on", "human"].setting.person == ["yes to all"]
    assert trials["on", "human"].setting.mode == "m"
    assert trials["print", "model"].setting.person is None
    assert trials["print", "model"].steps[0].tool == "refund"


def test_a_cell_is_what_was_seen():
    refused = Told("t", True, True, "no", [], "hook")
    request = Request(0, "POST", "/x", {}, {}, None)
    result = Result("1", 0, [refused], [request], [], {}, [], [], [], {}, "", dialogs=["one"])
    assert approval_table.cell("on", "human", result) == Cell("on", "human", 1, "refused by the hook", 1)


def test_what_must_hold_in_every_cell():
    good = [
        Cell("on", "human", 1, "ran", 1),
        Cell("on", "human", 0, "refused by the hook", 0),
        Cell("on", "human", 1, "refused by the server", 0),
        Cell("on", "model", 0, "ran", 1),
        Cell("on", "model", 2, "ran", 1),
    ]
    assert problems(TABLE, good) == []
    for bad, words in (
        (Cell("on", "human", 0, "ran", 1), "it ran after 0 dialogs"),
        (Cell("on", "human", 2, "ran", 1), "it ran after 2 dialogs"),
        (Cell("on", "human", 2, "stopped", 0), "2 dialogs for one call"),
        (Cell("on", "human", 1, "stopped", 1), "stopped, and 1 requests"),
        (Cell("on", "model", 0, "ran", 2), "ran, and 2 requests"),
        (Cell("on", "model", 0, "ran", 0), "ran, and 0 requests"),
    ):
        assert any(words in found for found in problems(TABLE, [bad])), bad


def test_a_section_takes_the_place_of_the_older_one():
    cells = [Cell("on", "human", 1, "ran", 1)]
    first = with_section(head(TABLE), "Zed", section(TABLE, "h", "Zed 1", cells))
    both = with_section(first, "Ada", section(TABLE, "h", "Ada 2", cells))
    assert both.index("## Ada 2") < both.index("## Zed 1")
    newer = with_section(both, "Zed", section(TABLE, "h", "Zed 3", cells))
    assert "## Zed 1" not in newer
    assert "## Zed 3\n\n| mode" in newer
    assert "| on request | a person approves | 1 | ran | 1 |" in newer
    assert with_section(newer, "Zed", section(TABLE, "h", "Zed 3", cells)) == newer


def test_a_table_that_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text("bundle: b\n")
    with pytest.raises(LabError, match=r"table\.yaml"):
        approval_table.load(path)

"""The larger comparison itself: it fails where it should. What it compares is in tests/agreement."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest

from anvil_runtime import gates

SCRIPT = runpy.run_path(str(Path(__file__).with_name("agreement_at_size.py")))
SMALL = ["--calls", "90", "--processes", "2", "--damaged", "7"]
CODES = {
    "unknown_operation", "operation_not_approved", "invalid_arguments", "confirmation_required",
    "human_approval_required", "idempotency_key_required", "idempotency_key_malformed", "catalog_unusable",
    "arguments_not_canonical",
}  # fmt: skip
pytestmark = [pytest.mark.invariant("I2"), pytest.mark.timeout(120)]


def test_the_codes_of_the_decision_core_are_found_in_its_source():
    assert set(SCRIPT["codes_of_decide"]()) == CODES


def test_enough_is_enough():
    table = {"one": Counter(dict.fromkeys(CODES, 100)) + Counter({"(pass)": 300})}
    assert SCRIPT["too_little"](table) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"catalog_unusable": -1}, "catalog_unusable: reached 99 times"),
        ({"(pass)": -200}, "one: 10% passed"),
        ({"(pass)": 9000}, "one: 91% passed"),
    ],
)
def test_too_little_is_seen(change, said):
    counted = Counter(dict.fromkeys(CODES, 100)) + Counter({"(pass)": 300})
    counted.update(change)
    (found,) = SCRIPT["too_little"]({"one": counted})
    assert said in found


def test_a_small_run_agrees_and_says_that_it_is_too_small(capsys):
    assert SCRIPT["main"](SMALL) == 1
    found = capsys.readouterr().out.rpartition("\n\n")[2]
    assert "reached" in found
    assert "the hook" not in found
    assert "the process" not in found


def test_a_wrong_gate_is_seen(capsys, monkeypatch):
    monkeypatch.setattr(gates, "control_problems", lambda _operation, _args: [])
    assert SCRIPT["main"](SMALL) == 1
    assert "the hook denies, the executor sends" in capsys.readouterr().out

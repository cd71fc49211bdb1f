"""A person's approval at the real terminals: dialogs answered by keys, and what reached the API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anvil_lab import judge, table
from anvil_lab.scenario import load

SCENARIOS = load(Path(__file__).parent / "human")
SMOKE = ("payments-a-yes", "payments-escape")
VOLATILE = ((re.compile(r"\b[A-Z]{4}\b(?= and send)"), "CODE"),)


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_human_approval(scenario, harness, start_lab, bundles, rows, full, check_page):
    if scenario.only and harness not in scenario.only:
        pytest.skip(f"a scenario of {', '.join(scenario.only)}")
    if not full and scenario.name not in SMOKE:
        pytest.skip("part of the whole run: --full")
    lab = start_lab(harness)
    trials = [(scenario.name, scenario.trial(harness))]
    if scenario.control is not None and full:
        trials.append((f"{scenario.name}, control", scenario.control_trial(harness)))
    found = []
    for name, trial in trials:
        result, seconds = lab.trial(trial, bundles(scenario.bundle, trial.setting.variant))
        wrong = judge.problems(trial, result)
        rows.append(table.row(f"{name} ({harness})", result, seconds, good=not wrong))
        found += [f"{name}: {words}" for words in wrong]
        if wrong:
            found += result.notices + result.screens[-1:] + [result.stderr]
    assert not found, "\n".join([scenario.title, *found])
    if scenario.id == "a-yes":
        check_page(f"dialog-{harness}.txt", shown(result.dialogs[0]))


def shown(screen: str) -> str:
    """A dialog as text, without what is another each time."""
    for pattern, words in VOLATILE:
        screen = pattern.sub(words, screen)
    return "\n".join(line.rstrip() for line in screen.strip("\n").splitlines()) + "\n"

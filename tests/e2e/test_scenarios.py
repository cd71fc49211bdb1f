"""Every scenario on every pinned harness, each with its control in the same test."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil_lab import judge, table
from anvil_lab.scenario import load

SCENARIOS = load(Path(__file__).parent / "scenarios")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario, harness, start_lab, bundles, rows):
    lab = start_lab(harness)
    trials = [(scenario.name, scenario.trial(harness))]
    if scenario.control is not None:
        trials.append((f"{scenario.name}, control", scenario.control_trial(harness)))
    found = []
    for name, trial in trials:
        result, seconds = lab.trial(trial, bundles(scenario.bundle, trial.setting.variant))
        wrong = judge.problems(trial, result)
        rows.append(table.row(name, result, seconds, good=not wrong))
        found += [f"{name}: {words}" for words in wrong]
        if wrong:
            found += result.notices + result.screens[-1:] + [result.stderr]
    assert not found, "\n".join([scenario.title, *found])

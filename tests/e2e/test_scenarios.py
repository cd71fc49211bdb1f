"""Every scenario on every pinned harness, in each form of tool call, each with its control."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil_lab import judge, table
from anvil_lab.scenario import load

SCENARIOS = load(Path(__file__).parent / "scenarios")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario, harness_and_shape, start_lab, bundles, rows):
    harness, shape = harness_and_shape
    if scenario.only and harness not in scenario.only:
        pytest.skip(f"a scenario of {', '.join(scenario.only)}")
    if shape and scenario.shape not in (None, shape):
        pytest.skip(f"a scenario of the form {scenario.shape}")
    lab = start_lab(harness)
    suffix = f" ({shape})" if shape else ""
    trials = [(scenario.name + suffix, scenario.trial(harness, shape))]
    if scenario.control is not None:
        trials.append((f"{scenario.name}{suffix}, control", scenario.control_trial(harness, shape)))
    found = []
    for name, trial in trials:
        result, seconds = lab.trial(trial, bundles(scenario.bundle, trial.setting.variant))
        wrong = judge.problems(trial, result)
        rows.append(table.row(name, result, seconds, good=not wrong))
        found += [f"{name}: {words}" for words in wrong]
        if wrong:
            found += result.notices + result.screens[-1:] + [result.stderr]
    assert not found, "\n".join([scenario.title, *found])

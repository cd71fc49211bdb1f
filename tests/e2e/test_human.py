"""A person's approval at the real terminals: dialogs answered by keys, and what reached the API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

from anvil_lab import approval_table, judge, table
from anvil_lab.scenario import load

pytestmark = pytest.mark.invariant("I3")
HERE = Path(__file__).parent
SCENARIOS = load(HERE / "human")
SMOKE = ("payments-a-yes", "payments-escape")
TABLE = approval_table.load(HERE / "human_table.yaml")
SHIMS = HERE.parents[1] / "packages" / "shims" / "src" / "anvil_shims"
PAGE = HERE.parents[1] / "docs" / "reference" / "human-approval-table.md"
VOLATILE = ((re.compile(r"\b(?<=type )[A-Z]{4}\b"), "CODE"),)


def of(harness, *, full):
    """The scenarios of a harness; of the short form, those that a pull request waits for."""
    fit = [one for one in SCENARIOS if not one.only or harness in one.only]
    return fit if full else [one for one in fit if one.name in SMOKE]


def trials(harness, *, full):
    """(scenario, what, trial) of every run, with controls in the whole form."""
    found = []
    for scenario in of(harness, full=full):
        found.append((scenario, scenario.name, scenario.trial(harness)))
        if scenario.control is not None and full:
            found.append((scenario, f"{scenario.name}, control", scenario.control_trial(harness)))
    return found


@pytest.fixture(scope="module")
def measured(harness, start_lab, bundles, full):
    """The result of each run; runs that are alike are one."""
    wanted = trials(harness, full=full)
    groups = {}
    for scenario, _, trial in wanted:
        place = (scenario.bundle, trial.setting.variant, trial.setting.version)
        groups.setdefault(place, {})[alike(trial)] = trial
    results = {}
    for (name, variant, version), distinct in groups.items():
        runs = [trial.run(harness, "/bundle", "/prepared") for trial in distinct.values()]
        made = start_lab(harness, version).attended(runs, bundles(name, variant))
        results |= {(name, key): result for key, result in zip(distinct, made, strict=True)}
    return {what: results[scenario.bundle, alike(trial)] for scenario, what, trial in wanted}


def alike(trial):
    """What two runs that cannot differ have in common; their expectations are theirs."""
    said = trial.model_dump(mode="json", exclude={"setting": {"shows"}, "steps": {"__all__": {"expect"}}})
    return repr(said)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_human_approval(scenario, harness, measured, rows, full):
    if scenario not in of(harness, full=True):
        pytest.skip(f"a scenario of {', '.join(scenario.only)}")
    if scenario not in of(harness, full=full):
        pytest.skip("part of the whole run: --full")
    found = []
    for one, name, trial in trials(harness, full=full):
        if one is not scenario:
            continue
        result = measured[name]
        wrong = judge.problems(trial, result)
        seconds = sum(result.seconds.values())
        rows.append(table.row(f"{name} ({harness})", result, seconds, good=not wrong))
        found += [f"{name}: {words}" for words in wrong]
        if wrong:
            found += result.notices + result.screens[-1:] + [result.stderr]
    assert not found, "\n".join([scenario.title, *found])


def test_the_dialog_is_a_page(harness, measured, check_page):
    dialog = measured["payments-a-yes"].dialogs[0]
    check_page(f"dialogs/{harness}.txt", shown(dialog), whole=True)


def shown(dialog):
    """A dialog as text, without what is another each time."""
    for pattern, words in VOLATILE:
        dialog = pattern.sub(words, dialog)
    return "\n".join(line.rstrip() for line in dialog.strip("\n").splitlines()) + "\n"


@pytest.fixture(scope="module")
def cells(harness, start_lab, bundles, full):
    """The table's cells of a harness, its version, and what went wrong beside."""
    if not full:
        pytest.skip("part of the whole run: --full")
    wanted = TABLE.trials(harness)
    runs = [trial.run(harness, "/bundle", "/prepared") for trial in wanted.values()]
    results = start_lab(harness).attended(runs, bundles(TABLE.bundle, None))
    errors = [f"{place}: {one.error}" for place, one in zip(wanted, results, strict=True) if one.error]
    made = [approval_table.cell(*place, result) for place, result in zip(wanted, results, strict=True)]
    return made, {result.version for result in results if result.version}, errors


def test_no_call_that_needs_a_person_runs_without_a_dialog(cells):
    made, _, errors = cells
    assert errors + approval_table.problems(TABLE, made) == []
    human = [one for one in made if TABLE.tiers[one.tier].human]
    assert sum(one.outcome == "ran" for one in human) >= 4
    assert sum(one.outcome != "ran" for one in human) >= 4


def test_the_table_is_a_page(harness, cells, check_page):
    made, versions, _ = cells
    (version,) = versions
    title = tomllib.loads((SHIMS / harness / "contract.toml").read_text(encoding="utf-8"))["title"]
    section = approval_table.section(TABLE, harness, f"{title} {version}", made)
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else approval_table.head(TABLE)
    check_page(PAGE.name, approval_table.with_section(before, title, section), whole=True)

"""I4 on the real harness: whatever is broken around the hook, a call that must be refused is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib

from anvil_lab import failing

pytestmark = pytest.mark.invariant("I4")
HERE = Path(__file__).parent
TABLE = failing.load(HERE / "failures.yaml")
SHIMS = HERE.parents[1] / "packages" / "shims" / "src" / "anvil_shims"


def contract(harness):
    return tomllib.loads((SHIMS / harness / "contract.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def measured(harness, start_lab, bundles, full):
    """What was seen of each row under each grant, and the harness's version."""
    trials = failing.trials(TABLE.of(harness, full=full))
    results = start_lab(harness).batch(
        [TABLE.run(harness, row, grant) for row, grant in trials],
        bundles(TABLE.bundle, None),
        lambda number, result: failing.undecided(trials[number][0], result),
    )
    seen = [failing.seen(*trial, result) for trial, result in zip(trials, results, strict=True)]
    return seen, results


def test_no_bare_call_reaches_the_api(measured, full):
    seen, _ = measured
    assert [f"{one.row.id}, {one.grant}" for one in seen if one.reached] == []
    assert len(seen) >= (100 if full else 24)


def test_each_row_is_as_the_table_says(measured):
    found = [words for one in measured[0] for words in failing.problems(one)]
    assert not found, "\n".join(found)


def test_the_gaps_are_those_that_the_contract_lists(measured, harness):
    seen, _ = measured
    listed = contract(harness)["failure"]["fail_open"]
    ran = {one.row.id for one in seen}
    assert failing.open_gaps(seen) == set(listed) & ran
    assert set(listed) <= {row.id for row in TABLE.of(harness, full=True)}


def test_the_page_says_what_was_measured(measured, harness, check_page):
    seen, results = measured
    (version,) = {result.version for result in results if result.version}
    text = failing.page(seen, harness, title=contract(harness)["title"], version=version)
    check_page(f"failures-{harness}.md", text)

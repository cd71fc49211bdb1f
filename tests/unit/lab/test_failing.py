from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

from anvil_lab import failing
from anvil_lab.errors import LabError
from anvil_lab.failing import Row, Table
from anvil_lab.inside.records import Fault, Request, Result, Told

ROOT = Path(__file__).parents[3]
TABLE = failing.load(ROOT / "tests" / "e2e" / "failures.yaml")


def result(bare="hook", *, requests=(), absent=False):
    told = [
        Told("t", answered=True, is_error=False, text="", extra=[], refused_by=None, absent=absent),
        Told("t", answered=True, is_error=True, text="no", extra=[], refused_by=bare, absent=absent),
    ]
    seen = [Request(call, "POST", "/v1/refunds", {}, {}, None) for call in requests]
    return Result("1", 0, told, seen, [], {}, [], [], [], {}, "")


def row(**change):
    return Row(id="one", title="One", **change)


def test_the_projects_own_table():
    for harness in TABLE.harnesses:
        rows = TABLE.of(harness, full=True)
        assert len({one.id for one in rows}) == len(rows) >= 50
        assert len(TABLE.of(harness, full=False)) == 12


def test_the_contract_lists_the_rows_that_the_hook_does_not_hold():
    """The whole table is measured at night; that its words agree with the contract is always checked."""
    for harness in TABLE.harnesses:
        path = ROOT / "packages" / "shims" / "src" / "anvil_shims" / harness / "contract.toml"
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["failure"]["fail_open"]
        rows = TABLE.of(harness, full=True)
        assert {one.id for one in rows if one.held == "server"} == set(listed)
        assert [one.id for one in rows if one.held == "nobody"] == []


def small(**own):
    rows = [row(short=True, bare=None, fault=Fault("file", file="plugin/{harness}/x"))]
    harnesses = {"claude": {}, "codex": own}
    return Table(bundle="b", tool="t", complete={"c": 1}, bare={"b": 1}, rows=rows, harnesses=harnesses)


def test_a_harness_has_the_common_rows_with_its_own_parts_and_rows_of_its_own():
    table = small(differs={"one": {"held": "server"}}, rows=[{"id": "two", "title": "Two"}])
    (claude,) = table.of("claude", full=True)
    codex, two = table.of("codex", full=True)
    assert (claude.held, codex.held, two.id) == ("hook", "server", "two")
    assert "bare" in codex.model_fields_set, "null is still an argument"
    assert table.of("codex", full=False) == [codex]
    assert table.run("codex", codex, "allow").fault.file == "plugin/codex/x"
    with pytest.raises(LabError, match="nobody"):
        small(differs={"nobody": {}}).of("codex", full=True)


def test_null_is_an_argument_and_none_given_is_the_tables():
    table = small()
    assert table.run("claude", row(), "allow").calls[1].args == {"b": 1}
    assert table.run("claude", row(bare=None), "allow").calls[1].args is None


@pytest.mark.parametrize(
    ("made", "held", "is_open", "complete"),
    [
        (result("hook"), "hook", False, "refused"),
        (result("hook", requests=[0]), "hook", False, "ran"),
        (result("server", requests=[0]), "server", True, "ran"),
        (result("harness", absent=True), "no tool", False, "refused"),
        (result("harness"), "nobody", True, "refused"),
        (result("hook", requests=[1]), "nobody", True, "refused"),
        (result(None, requests=[0, 1]), "nobody", True, "ran"),
    ],
)
def test_who_held(made, held, is_open, complete):
    seen = failing.seen(row(), "allow", made)
    assert (seen.held, seen.open, seen.complete) == (held, is_open, complete)
    assert (failing.open_gaps([seen]) == {"one"}) is is_open


def test_each_difference_is_named():
    good = failing.seen(row(), "allow", result("hook"))
    assert failing.problems(good) == []
    bad = failing.seen(row(), "bypass", result(None, requests=[0, 1]))
    words = failing.problems(bad)
    assert len(words) == 3
    assert "one, bypass: 1 bare calls reached the API" in words[0]


def test_a_server_that_was_not_up_is_tried_again_unless_the_row_says_so():
    assert failing.undecided(row(), result(absent=True))
    assert not failing.undecided(row(held="no tool"), result(absent=True))
    assert not failing.undecided(row(), result())


def test_a_gap_stands_out_on_the_page():
    seen = [failing.seen(row(held="server"), grant, result("server")) for grant in failing.GRANTS]
    text = failing.page(seen, "codex", title="T", version="1")
    assert "| `one` | One | **server** | refused |" in text
    assert "nox -s e2e-codex" in text
    assert "reached the API: 0 of 2. The hook refused in 0 circumstances; in 1 it" in text


def test_the_page_is_what_the_table_says():
    """Measuring takes minutes and an engine; a table that was changed without it is seen here."""
    for harness in TABLE.harnesses:
        path = ROOT / "docs" / "reference" / f"failures-{harness}.md"
        text = path.read_text(encoding="utf-8")
        title, version = re.search(r"Measured on (.+) ([0-9.]+): ", text).groups()
        seen = [
            failing.Seen(row=one, grant=grant, held=one.held, complete=one.complete, reached=0, words="")
            for one, grant in failing.trials(TABLE.of(harness, full=True))
        ]
        assert failing.page(seen, harness, title=title, version=version) == text

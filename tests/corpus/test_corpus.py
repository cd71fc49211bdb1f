"""The short form of ``nox -s corpus``: the documents that are here, without a whole compile of each."""

from __future__ import annotations

import json

import pytest
from corpus import library, run, table

ENTRIES = {name: entry for name, entry in library.entries().items() if entry.path}
COUNTS = json.loads(run.COUNTS.read_text(encoding="utf-8"))


@pytest.mark.invariant("I6")
@pytest.mark.invariant("I8")
@pytest.mark.parametrize("name", ENTRIES)
def test_a_real_document(name, tmp_path):
    found, complaints = run.check(ENTRIES[name], tmp_path)
    assert complaints == []
    assert found == COUNTS[name], "look at what changed, then run `nox -s corpus -- --update`"


def test_no_document_fails_as_a_whole_and_no_operation_is_lost():
    assert COUNTS.keys() == library.entries().keys()
    for found in COUNTS.values():
        parts = found["compiled"] + sum(found["withheld"].values()) + sum(found["failed"].values())
        assert parts == found["operations"]
        assert found["compiled"] > 0


def test_the_page_tells_these_counts():
    lines = table.PAGE.read_text(encoding="utf-8").splitlines()
    for name, found in COUNTS.items():
        (line,) = (line for line in lines if line.startswith(f"| {name} |"))
        assert [cell.strip() for cell in line.split("|")][1:7] == table.counted(name, found)

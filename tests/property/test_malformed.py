"""Real documents made wrong: each is compiled or refused with a place, soon, and no operation is lost."""

from __future__ import annotations

import json
import time

import pytest
from corpus import library
from property.malformed import kinds, malformed

from anvil_generator.compiler import compile_project
from anvil_generator.errors import Failed
from anvil_generator.project import open_project
from anvil_generator.report import report
from anvil_generator.sources import read

BLOCKS = 4
SECONDS = 20  # for one of them, on a machine that does other things too; each takes hundredths
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
NAMES = ("petstore3", "paypal-payments")


def _problems(document):
    return [*document.problems, *(one.problem for one in document.failed)]


def _wanted(data):
    """How many operations there are, None where only the reader can say; path items that are none count."""
    try:
        paths = json.loads(data)["paths"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(paths, dict):
        return None
    own = [METHODS & item.keys() if isinstance(item, dict) else {"*"} for item in paths.values()]
    away = sum(isinstance(item, dict) and isinstance(item.get("$ref"), str) for item in paths.values())
    return sum(map(len, own)) + away


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_real_document_made_wrong(name, block, tmp_path):
    entry = library.entries()[name]
    for number, (what, data) in enumerate(malformed(entry.file())):
        if number % BLOCKS != block:
            continue
        began = time.monotonic()
        path = tmp_path / ("api.json" if data.startswith(b"{") else "api.yaml")
        path.write_bytes(data)
        document = read(path)
        lines = data.count(b"\n") + 1
        for problem in _problems(document):
            # A file that is no text at all, or too deep, is meant as a whole.
            assert problem.position.line is None or 1 <= problem.position.line <= lines, what
            assert problem.position.line is not None or problem.code == "document_too_deep", what
        found = len(document.operations) + len(document.withheld) + len(document.failed)
        if document.kind is not None and path.suffix == ".json":
            assert found == _wanted(data), what
        try:
            made = compile_project(open_project(path))
        except Failed as failed:
            told = failed.problems
            made = None
        if made is None:
            assert told, what
        else:
            accounting = report(made)["accounting"]
            assert sum(len(part) for part in accounting.values()) == found, what
        assert time.monotonic() - began < SECONDS, what


@pytest.mark.parametrize("name", NAMES)
def test_there_are_enough_of_them_and_they_are_the_same_each_time(name):
    path = library.entries()[name].file()
    first = [what for what, _ in malformed(path)]
    assert len(first) >= 100
    assert len(set(first)) > 0.95 * len(first)
    assert first == [what for what, _ in malformed(path)]


def test_a_kind_of_node_has_no_names_of_the_document(tmp_path):
    found = kinds({"paths": {"/a": {"get": {"parameters": [{"name": "x"}]}}}})
    assert sorted(found) == [
        "/paths", "/paths/*", "/paths/*/get", "/paths/*/get/parameters", "/paths/*/get/parameters/*",
        "/paths/*/get/parameters/*/name",
    ]  # fmt: skip

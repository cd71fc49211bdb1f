"""Data, not code: no operation of an example stands in a template, a copied file or the compiler.

And no harness is named outside its own folder.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from anvil_core import names
from anvil_generator import harnesses
from anvil_generator.compiler import compile_project
from anvil_generator.project import open_project

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/anvil.yaml"))
SHORTEST = 6  # a path like /v1 or an id like "get" is no operation's own
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
ENDINGS = {".py", ".j2", ".toml"}
SOURCES = sorted(
    path
    for package in ("core", "shims", "runtime", "generator")
    for path in (ROOT / "packages" / package / "src").rglob("*")
    if path.suffix in ENDINGS
)


def read(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def own_words(example):
    """The operation ids, tool names and paths of an example: as its document and as its contract has them."""
    document = read(example / read(example / "anvil.yaml")["document"])
    found = set()
    for path, item in document["paths"].items():
        found.add(path)
        for method in METHODS & set(item):
            operation_id = item[method].get("operationId")
            found |= {operation_id or path, names.from_method_and_path(method, path)}
            found.add(names.snake(operation_id or ""))
    for operation in compile_project(open_project(example)).air.operations:
        found |= {operation.name, operation.id}
    return {word for word in found if len(word) >= SHORTEST}


def occurrences(words, text):
    """The words that stand in the text by themselves, not inside a longer name."""
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return sorted(set(re.findall(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])", text)))


@pytest.mark.invariant("I9")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_no_operation_in_code(example):
    words = own_words(example)
    assert len(words) > 10
    found = {
        str(path.relative_to(ROOT)): hits
        for path in SOURCES
        if (hits := occurrences(words, path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_names_of_the_manifest_and_shortened_ones_are_looked_for(tmp_path):
    long = "listAllConfigurationsOfTheOrganizationThatWereEverChangedByAnybody"
    get = {"responses": {"200": {"description": "ok"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://api.shop.example"}],
        "paths": {
            "/debts": {"get": {"operationId": "a", **get}},
            "/all": {"get": {"operationId": long, **get}},
        },
    }
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
    said = "document: api.json\noperations:\n  a: {name: debts_of_everybody}\n"
    (tmp_path / "anvil.yaml").write_text(said, encoding="utf-8")
    words = own_words(tmp_path)
    short = {one.name for one in compile_project(open_project(tmp_path)).air.operations}
    assert "debts_of_everybody" in short <= words
    assert not {names.snake("a"), names.snake(long)} & short


def test_no_harness_in_code():
    """Also in no comment: what holds for one only is said in its folder."""
    words = {word.lower() for one in harnesses.known() for word in (one.id, one.title)}
    assert len(words) >= 2
    found = {
        str(path.relative_to(ROOT)): hits
        for path in SOURCES
        if "shims" not in path.relative_to(ROOT / "packages").parts
        and (hits := occurrences(words, path.read_text(encoding="utf-8").lower()))
    }
    assert found == {}


def test_there_are_examples_and_sources():
    assert {"payments", "paypal-payments", "notion"} <= {path.name for path in EXAMPLES}
    parts = {path.relative_to(ROOT / "packages").parts[0] for path in SOURCES}
    assert parts == {"core", "shims", "runtime", "generator"}
    assert {path.suffix for path in SOURCES} == ENDINGS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 'refunds_create'", ["refunds_create"]),
        ("send it to /payments/{id}/refunds", ["/payments/{id}/refunds"]),
        ("unrefunds_create refunds_created", []),
    ],
)
def test_the_check_sees(text, found):
    assert occurrences({"refunds_create", "/payments/{id}/refunds"}, text) == found

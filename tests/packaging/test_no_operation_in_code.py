"""Data, not code: no operation of an example stands in a template, a copied file or the compiler."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from anvil_core import names

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
    """The operation ids, tool names and paths of an example."""
    document = read(example / read(example / "anvil.yaml")["document"])
    found = set()
    for path, item in document["paths"].items():
        found.add(path)
        for method in METHODS & set(item):
            operation_id = item[method].get("operationId")
            found |= {operation_id or path, names.from_method_and_path(method, path)}
            found.add(names.snake(operation_id or ""))
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

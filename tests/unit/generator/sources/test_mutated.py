"""Whatever is wrong in a document: no traceback, nothing lost, everything with a place."""

from __future__ import annotations

import copy
import json
import random

import pytest
import yaml

from anvil_generator.sources import read_bytes

WRONG = [
    None,
    True,
    7,
    1.5,
    "",
    "x",
    [],
    ["x"],
    {},
    {"$ref": "#/gone"},
    {"$ref": 7},
    {"$ref": "e.yaml#/a"},
    {"type": 3},
]

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def _places(value, pointer=()):
    if pointer:
        yield pointer
    for key, child in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from _places(child, (*pointer, key))


def _mutated(raw, seed):
    chance = random.Random(seed)
    value = copy.deepcopy(raw)
    for _ in range(chance.randint(1, 3)):
        pointer = chance.choice(list(_places(value)))
        parent = value
        for part in pointer[:-1]:
            parent = parent[part]
        if chance.random() < 0.2:
            del parent[pointer[-1]]
        else:
            parent[pointer[-1]] = copy.deepcopy(chance.choice(WRONG))
    return value


@pytest.mark.parametrize("name", ["petstore3", "paypal", "museum_31"])
@pytest.mark.parametrize("block", range(4))
def test_a_mutated_document_is_read_or_refused(name, block, documents, check_schema, tool):
    raw = yaml.safe_load(documents[name].read_text(encoding="utf-8"))
    for seed in range(block * 25, block * 25 + 25):
        value = _mutated(raw, f"{name}{seed}")
        document = read_bytes(json.dumps(value, indent=1).encode(), "a.json")
        if document.kind is None:
            assert [p.severity for p in document.problems] == ["error"]
            assert document.problems[0].position.line is not None
            continue
        items = {path: item for path, item in value.get("paths", {}).items() if not path.startswith("x-")}
        found = [*document.operations, *document.withheld, *document.failed]
        operations = [one for one in found if one.source.method != "*"]
        assert len(operations) == sum(
            len(METHODS & item.keys()) for item in items.values() if isinstance(item, dict)
        )
        lost = {path for path, item in items.items() if not isinstance(item, dict)}
        assert lost <= {one.source.path for one in found if one.source.method == "*"}
        assert all(problem.position.line is not None for problem in document.problems)
        for operation in document.operations:
            check_schema(tool(operation))


@pytest.mark.parametrize("name", ["petstore3", "box-v2026"])
def test_a_truncated_document_is_refused_with_a_place_or_read(name, documents):
    data = documents[name].read_bytes()
    for cut in range(1, 40):
        document = read_bytes(data[: len(data) * cut // 40], documents[name].name)
        if document.kind is None:
            assert document.problems[0].position.line is not None
        else:
            assert name == "petstore3"

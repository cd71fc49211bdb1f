from __future__ import annotations

import time

import pytest

from anvil_core.param_styles import SHAPES
from anvil_generator.sources import shapes
from anvil_generator.sources.raw import Raw
from anvil_generator.sources.text import parse

ANY = set(SHAPES)


def _raw(schemas, kind="openapi-3.1"):
    import json

    return Raw(parse(json.dumps({"components": {"schemas": schemas}}), json_only=True), kind, "t.json")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, ANY),
        (True, ANY),
        ({"type": "string"}, {"primitive"}),
        ({"type": ["string", "array", "null"]}, {"primitive", "array"}),
        ({"type": "null"}, set()),
        ({"type": [{}]}, set()),
        ({"const": []}, {"array"}),
        ({"enum": [1, {}, None]}, {"primitive", "object"}),
        ({"enum": []}, ANY),
        ({"properties": {}}, {"object"}),
        ({"items": {}}, {"array"}),
        ({"anyOf": [{"type": "object"}, {"type": "integer"}]}, {"object", "primitive"}),
        ({"type": "object", "oneOf": [{}, {"type": "integer"}]}, {"object"}),
        ({"allOf": [{"type": ["object", "string"]}, {"type": ["string", "array"]}]}, {"primitive"}),
        ({"$ref": "#/components/schemas/List"}, {"array"}),
        ({"$ref": "#/components/schemas/Loop"}, {"object"}),
    ],
)
def test_what_a_schema_can_stand_for(schema, expected):
    loop = {"type": "object", "anyOf": [{"$ref": "#/components/schemas/Loop"}]}
    raw = _raw({"List": {"type": "array"}, "Loop": loop})
    assert shapes.of(raw, schema, ("somewhere",)) == expected


def test_a_schema_that_refers_to_each_other_many_times_costs_little():
    many = {f"S{n}": {"anyOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 8} for n in range(11)}
    raw = _raw({**many, "S11": {"type": "string"}})
    start = time.monotonic()
    assert shapes.of(raw, {"$ref": "#/components/schemas/S0"}, ()) == {"primitive"}
    assert time.monotonic() - start < 1

"""Schemas of 3.0 and 3.1 in the words of 2020-12; ``schema_of`` checks that each result is valid."""

from __future__ import annotations

import pytest


@pytest.fixture
def body(schema_of):
    """The converted schema of the body, without what stands around it."""
    return lambda schema, **rest: schema_of(schema, **rest)["properties"]["body"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"nullable": True}, {}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "object", "nullable": True, "allOf": [{"minProperties": 1}], "description": "D"},
            {
                "description": "D",
                "anyOf": [{"type": "object", "allOf": [{"minProperties": 1}]}, {"type": "null"}],
            },
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMaximum": True}, {}),
        ({"example": 1}, {"examples": [1]}),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
        ({"discriminator": {}, "xml": {}, "externalDocs": {}, "x-a": 1, "$id": "b", "$schema": "c"}, {}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"items": {"nullable": True, "type": "integer"}}, {"items": {"type": ["integer", "null"]}}),
        ({"required": ["a", "b", "a"]}, {"required": ["a", "b"]}),
    ],
)
def test_30_becomes_2020_12(body, schema, expected):
    assert body(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"enum": []},
        {"const": None},
        {"exclusiveMinimum": 3},
        {"prefixItems": [{"type": "string"}], "items": False},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": False},
        {"patternProperties": {"^a$": {"type": "string"}}, "propertyNames": {"maxLength": 3}},
        {"unevaluatedProperties": False, "dependentRequired": {"a": ["b"]}},
        {"contains": {"const": 1}, "minContains": 0, "maxContains": 2},
        {"contentMediaType": "a/b", "contentEncoding": "base64", "contentSchema": {}},
        {"examples": [{"$ref": "a key in an example"}]},
        {"properties": {"$ref": {"type": "string"}, "type": {"type": "object"}, "nullable": True}},
    ],
)
def test_31_passes_through(body, schema):
    assert body(schema, version="3.1.0") == schema


def test_31_keeps_what_stands_beside_a_reference_and_30_only_the_description(body):
    components = {"schemas": {"A": {"type": "string"}}}
    schema = {"$ref": "#/components/schemas/A", "maxLength": 3, "description": "D"}
    assert body(schema, version="3.1.0", components=components) == {
        "$ref": "#/$defs/A", "maxLength": 3, "description": "D",
    }  # fmt: skip
    assert body(schema, components=components) == {"$ref": "#/$defs/A", "description": "D"}


def test_31_does_not_know_nullable(body):
    assert body({"type": "string", "nullable": True}, version="3.1.0") == {"type": "string"}


@pytest.mark.parametrize(("schema", "expected"), [(True, {}), (False, {"not": {}})])
def test_boolean_schemas_become_objects(body, schema, expected):
    assert body(schema, version="3.1.0") == expected


@pytest.mark.parametrize(
    ("schema", "pointer_line"),
    [
        ({"type": "int"}, '"type"'),
        ({"type": []}, '"type"'),
        ({"required": True}, '"required"'),
        ({"maxLength": "3"}, '"maxLength"'),
        ({"maxLength": -1}, '"maxLength"'),
        ({"multipleOf": 0}, '"multipleOf"'),
        ({"pattern": "[a"}, '"pattern"'),
        ({"patternProperties": {"[a": {}}}, '"patternProperties"'),
        ({"enum": "a"}, '"enum"'),
        ({"oneOf": []}, '"oneOf"'),
        ({"allOf": {}}, '"allOf"'),
        ({"properties": []}, '"properties"'),
        ({"$ref": 7}, '"$ref"'),
        ({"$dynamicRef": "#a"}, '"$dynamicRef"'),
        ({"minimum": True and "1"}, '"minimum"'),
    ],
)
def test_a_keyword_that_makes_no_sense_is_dropped_with_its_place(make, schema, pointer_line):
    import json

    content = {"application/json": {"schema": schema}}
    paths = {"/a": {"post": {"requestBody": {"content": content}}}}
    document = make(paths)
    (operation,) = document.operations
    assert operation.body.json_schema == {}
    (problem,) = document.problems
    assert problem.code == "schema_keyword_invalid"
    raw = {"openapi": "3.0.3", "info": {"title": "T", "version": "1"}}
    raw |= {"servers": [{"url": "https://api.example.com/v1"}], "paths": paths}
    assert pointer_line in json.dumps(raw, indent=1).split("\n")[problem.position.line - 1]


def test_a_schema_that_is_no_object_means_any_value(make):
    document = make({"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": "x"}}}}}})
    assert document.operations[0].body.json_schema == {}
    assert [problem.code for problem in document.problems] == ["schema_invalid"]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": {"readOnly": True}, "n": {}}, "required": ["id", "n"]},
        {"properties": {"id": {"$ref": "#/components/schemas/Id"}, "n": {}}, "required": ["id", "n"]},
        {"allOf": [{"properties": {"id": {"readOnly": True}}}], "required": ["id", "n"]},
    ],
)
def test_read_only_properties_are_not_required_of_a_caller(schema_of, accepts, schema):
    components = {"schemas": {"Id": {"type": "string", "readOnly": True}}}
    tool = schema_of({"type": "object", **schema}, components=components)
    assert accepts(tool, {"body": {"n": 1}})
    assert not accepts(tool, {"body": {"id": "x"}})


def test_write_only_properties_are_not_required_of_an_answer_but_of_a_caller(one, tool, accepts):
    schema = {"type": "object", "properties": {"pin": {"writeOnly": True}}, "required": ["pin"]}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}
    found = one(
        {"requestBody": {"content": content}, "responses": {"200": {"content": content}}},
        components={"schemas": {"S": schema}},
    )
    assert accepts(found.output.json_schema, {})
    assert not accepts(tool(found), {"body": {}})


def test_a_schema_that_contains_itself_stays_a_reference(schema_of, accepts):
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
        "additionalProperties": False,
    }
    tool = schema_of({"$ref": "#/components/schemas/Node"}, components={"schemas": {"Node": node}})
    assert list(tool["$defs"]) == ["Node"]
    assert accepts(tool, {"body": {"children": [{"children": []}]}})
    assert not accepts(tool, {"body": {"children": [{"other": 1}]}})


def test_two_schemas_that_contain_each_other(schema_of, accepts):
    ref = "#/components/schemas/"
    a = {"type": "object", "properties": {"b": {"$ref": ref + "B"}}}
    b = {"type": "object", "properties": {"a": {"$ref": ref + "A"}, "n": {"type": "integer"}}}
    tool = schema_of({"$ref": ref + "A"}, components={"schemas": {"A": a, "B": b, "C": {}}})
    assert list(tool["$defs"]) == ["A", "B"]
    assert not accepts(tool, {"body": {"b": {"a": {"b": {"n": "x"}}}}})


def test_a_root_combinator_of_the_body_is_enforced_below_the_root(schema_of, accepts):
    tool = schema_of({"oneOf": [{"type": "string"}, {"type": "integer"}]})
    assert tool["type"] == "object"
    assert accepts(tool, {"body": "x"})
    assert not accepts(tool, {"body": []})
    assert not accepts(tool, {"body": "x", "more": 1})
    assert not accepts(tool, {})

"""Nothing of the document's contract is lost between the served schema and the executor.

The root of a served schema is a plain object, and what a model API cannot take at a root stands below it;
what no schema says at all is refused where the request is made.
"""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from anvil_core import tools
from anvil_runtime import arguments
from anvil_runtime.origin import target
from anvil_runtime.plan import make_plan
from anvil_runtime.styles import UnsendableError
from tests.unit.generator.conftest import OK

CARD = {
    "type": "object",
    "properties": {"card": {"type": "string"}},
    "required": ["card"],
    "additionalProperties": False,
}
BANK = {
    "type": "object",
    "properties": {"iban": {"type": "string"}},
    "required": ["iban"],
    "additionalProperties": False,
}
COMPONENTS = {
    "schemas": {
        "Card": CARD,
        "Bank": BANK,
        "Node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
            "additionalProperties": False,
        },
    }
}
REF = "#/components/schemas/"


def with_body(schema, media_type="application/json"):
    body = {"required": True, "content": {media_type: {"schema": schema}}}
    return {"/pay": {"post": {"operationId": "pay", "requestBody": body, **OK}}}


def with_query(**parameter):
    return {
        "/pay": {
            "get": {"operationId": "pay", "parameters": [{"name": "p", "in": "query", **parameter}], **OK}
        }
    }


@pytest.fixture
def served(project, compiled):
    """A function: (operation, its served schema, the service) of a document with one operation."""

    def make(paths):
        made = compiled(project(paths, components=COMPONENTS))
        (operation,) = made.air.operations
        return operation, tools.input_schema(operation), made.air.service

    return make


def refused(operation, args):
    return arguments.problems(operation, args, arguments.Validators())


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"oneOf": [{"$ref": REF + "Card"}, {"$ref": REF + "Bank"}]},
            {"card": "1"},
            {"card": "1", "iban": "2"},
        ),
        ({"anyOf": [{"$ref": REF + "Card"}, {"$ref": REF + "Bank"}]}, {"iban": "1"}, {}),
        ({"allOf": [{"$ref": REF + "Card"}]}, {"card": "1"}, {"card": 1}),
        ({"not": {"required": ["a"]}}, {"b": 1}, {"a": 1}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}, {"x-a": "1"}, {"x-a": 1}),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"type": "object", "minProperties": 1}, {"a": 1}, {}),
        ({"$ref": REF + "Node"}, {"children": [{"children": []}]}, {"children": [{"other": 1}]}),
        ({"enum": [{"a": 1}]}, {"a": 1}, {"a": 2}),
    ],
)
def test_what_stands_at_the_root_of_a_body_is_below_the_root_of_the_tool_and_enforced(
    served, schema, good, bad
):
    operation, whole, _ = served(with_body(schema))
    assert whole["type"] == "object"
    assert set(whole) <= {"type", "properties", "required", "additionalProperties", "$defs"}
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **whole})
    assert refused(operation, {"body": good}) == []
    assert refused(operation, {"body": bad}) != []
    assert refused(operation, {"body": good, "other": 1}) != []


@pytest.mark.parametrize(
    ("paths", "args"),
    [
        (with_query(style="deepObject", schema={"type": "object"}), {"p": {"a": [1]}}),
        (with_query(style="pipeDelimited", schema={"type": ["array", "string"]}), {"p": "a"}),
        (with_query(style="spaceDelimited", schema={"type": "array"}), {"p": ["a b"]}),
        (with_query(schema={"type": "array"}), {"p": [{"a": 1}]}),
        (with_query(schema={"type": "object"}), {"p": {"_method": "DELETE"}}),
        (with_query(**{"in": "header"}, schema={"type": "string"}), {"p": "a\r\nHost: evil"}),
        (
            with_body({"type": "string", "format": "binary"}, "application/octet-stream"),
            {"body": "not base64!"},
        ),
        (with_body({"type": "object"}, "application/x-www-form-urlencoded"), {"body": {"_method": "DELETE"}}),
    ],
)
def test_what_the_served_schema_lets_through_and_no_request_can_hold_is_refused(served, paths, args):
    operation, whole, service = served(paths)
    assert jsonschema_rs.Draft202012Validator(whole).is_valid(args)
    with pytest.raises(UnsendableError):
        make_plan(operation, args, target(service, {}))


def test_a_read_only_property_and_a_discriminator_ask_nothing_of_a_caller(project, compiled):
    """3.0: `readOnly` is not required of a request; a discriminator only says where to look."""
    pet = {
        "type": "object",
        "required": ["id", "kind"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "kind": {"type": "string", "nullable": True},
        },
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Gone"}},
        "example": {"kind": "cat"},
    }
    folder = project(with_body(pet))
    path = next(folder.glob("*.json"))
    path.write_text(path.read_text(encoding="utf-8").replace('"3.1.0"', '"3.0.3"'), encoding="utf-8")
    (operation,) = compiled(folder).air.operations
    assert refused(operation, {"body": {"kind": None}}) == []
    assert refused(operation, {"body": {}}) != []
    assert "Gone" not in json.dumps(operation.input.json_schema)

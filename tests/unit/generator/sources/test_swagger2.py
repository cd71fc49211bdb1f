"""Swagger 2.0 gives the same model as the OpenAPI 3 document that says the same."""

from __future__ import annotations

import json

import pytest

from anvil_core.air import AuthScheme, Origin
from anvil_generator.sources import assemble, read_bytes

TOP = {
    "swagger": "2.0",
    "info": {"title": "T", "version": "1"},
    "host": "api.example.com",
    "basePath": "/v1",
    "schemes": ["http", "https"],
}


def _read(paths, **top):
    return read_bytes(json.dumps({**TOP, "paths": paths, **top}, indent=1).encode(), "t.json")


def _one(operation, path="/a", **top):
    document = _read({path: {"post": operation}}, **top)
    assert (document.withheld, document.failed) == ((), ())
    (found,) = document.operations
    return found


def _line(document, wanted):
    """The line of the only place that holds the text."""
    (line,) = (n for n, text in enumerate(json.dumps(document, indent=1).splitlines(), 1) if wanted in text)
    return line


def test_the_server_is_made_of_host_base_path_and_schemes():
    first, second = _read({}).servers
    assert (first.origin, first.base_path) == (
        Origin(scheme="https", host="api.example.com", port=443),
        "/v1",
    )
    assert second.origin.scheme == "http"


@pytest.mark.parametrize(
    ("top", "url"),
    [
        ({"schemes": None}, "https://api.example.com/v1"),
        ({"basePath": "/"}, "https://api.example.com"),
        ({"basePath": "v2/"}, "https://api.example.com/v2"),
        ({"basePath": 7}, "https://api.example.com"),
        ({"host": "api.example.com:8443"}, "https://api.example.com:8443/v1"),
    ],
)
def test_servers_of_odd_documents(top, url):
    assert _read({}, **top).servers[0].url == url


def test_without_a_host_there_is_no_server_and_a_word_about_it():
    document = _read({"/a": {"get": {}}}, host="")
    assert document.servers == ()
    assert [problem.code for problem in document.problems] == ["server_missing"]


def test_a_host_that_is_none_is_told_of_where_it_stands():
    (problem,) = _read({"/a": {"get": {}}}, host="me@evil", schemes=["https"]).problems
    assert (problem.code, problem.position.line) == ("server_unusable", 7)


def test_an_operation_that_the_service_does_not_reach_is_withheld():
    document = _read({"/a": {"get": {"schemes": ["wss"]}}, "/b": {"get": {"schemes": ["https"]}}})
    assert [one.reason for one in document.withheld] == ["other_server"]
    assert [one.source.path for one in document.operations] == ["/b"]


def test_parameters_get_a_schema_of_their_own_words():
    given = {
        "name": "n",
        "in": "query",
        "description": "how many",
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 9,
        "exclusiveMaximum": True,
        "default": 3,
        "allowEmptyValue": True,
    }
    (found,) = _one({"parameters": [given]}).parameters
    assert found.json_schema == {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "exclusiveMaximum": 9,
        "default": 3,
        "description": "how many",
    }
    assert (found.style, found.explode, found.required) == ("form", True, False)


@pytest.mark.parametrize(
    ("location", "written", "style"),
    [
        ("query", None, ("form", False)),
        ("query", "csv", ("form", False)),
        ("query", "ssv", ("spaceDelimited", False)),
        ("query", "pipes", ("pipeDelimited", False)),
        ("query", "multi", ("form", True)),
        ("query", "tsv", ("tabDelimited", False)),
        ("path", "csv", ("simple", False)),
        ("path", "pipes", ("pipeDelimited", False)),
        ("header", None, ("simple", False)),
        ("header", "ssv", ("spaceDelimited", False)),
    ],
)
def test_collection_formats_are_styles(location, written, style):
    parameter = {"name": "n", "in": location, "type": "array", "items": {"type": "string"}, "required": True}
    if written:
        parameter["collectionFormat"] = written
    (found,) = _one({"parameters": [parameter]}, path="/a/{n}" if location == "path" else "/a").parameters
    assert (found.style, found.explode) == style
    assert found.json_schema == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("location", "written", "items"),
    [
        ("query", "tabs", {"type": "string"}),
        ("header", "multi", {"type": "string"}),
        ("path", "multi", {"type": "string"}),
        ("query", ["csv"], {"type": "string"}),
        ("query", "csv", {"type": "array", "items": {"type": "string"}}),
    ],
)
def test_a_list_that_cannot_be_written_withholds_the_operation_where_it_stands(location, written, items):
    parameter = {"name": "n", "in": location, "type": "array", "collectionFormat": written, "items": items}
    paths = {"/a": {"get": {"parameters": [parameter]}}}
    (withheld,) = _read(paths).withheld
    assert withheld.reason == "encoding_unsupported"
    assert withheld.position.line == _line({**TOP, "paths": paths}, '"name"') - 1


def test_a_body_is_a_body_with_the_types_that_are_consumed():
    schema = {"$ref": "#/definitions/Pet"}
    operation = {
        "consumes": ["application/xml", "application/json"],
        "parameters": [{"name": "pet", "in": "body", "required": True, "description": "D", "schema": schema}],
    }
    found = _one(operation, definitions={"Pet": {"type": "object", "x-nullable": True}})
    assert found.body is not None
    assert (found.body.argument, found.body.media_type, found.body.required) == (
        "body",
        "application/json",
        True,
    )
    assert found.body.json_schema == {"$ref": "#/$defs/Pet", "description": "D"}
    assert found.definitions == {"Pet": {"type": ["object", "null"]}}


def test_what_is_consumed_and_produced_is_the_documents_where_an_operation_says_nothing():
    response = {"200": {"description": "", "schema": {"type": "string"}}}
    operation = {"parameters": [{"name": "b", "in": "body", "schema": {}}], "responses": response}
    top = {"consumes": ["text/plain"], "produces": ["application/vnd.x+json"]}
    found = _one(operation, **top)
    assert found.body is not None
    assert (found.body.media_type, found.output.media_type) == ("text/plain", "application/vnd.x+json")
    found = _one({**operation, "consumes": ["application/json"], "produces": ["text/plain"]}, **top)
    assert found.body is not None
    assert (found.body.media_type, found.output.media_type) == ("application/json", "text/plain")


def test_fields_of_a_form_are_one_object():
    fields = [
        {"name": "a", "in": "formData", "type": "string", "required": True, "description": "A"},
        {"name": "b", "in": "formData", "type": "integer"},
    ]
    found = _one(
        {"consumes": ["application/json", "application/x-www-form-urlencoded"], "parameters": fields}
    )
    assert found.body is not None
    assert (found.body.media_type, found.body.required) == ("application/x-www-form-urlencoded", True)
    assert found.body.json_schema == {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "A"}, "b": {"type": "integer"}},
        "required": ["a"],
    }


def test_a_field_written_twice_is_told_of():
    fields = [{"name": "a", "in": "formData", "type": kind} for kind in ("string", "integer")]
    document = _read({"/a": {"post": {"parameters": fields}}})
    assert [problem.code for problem in document.problems] == ["parameter_duplicate"]


def test_a_body_and_a_form_at_once_fail():
    fields = [{"name": "a", "in": "formData", "type": "string"}, {"name": "b", "in": "body", "schema": {}}]
    assert [one.problem.code for one in _read({"/a": {"post": {"parameters": fields}}}).failed] == [
        "body_and_form"
    ]


def test_the_operations_parameters_win_over_the_path_items_behind_references():
    item = {
        "parameters": [{"$ref": "#/parameters/N"}, {"name": "b", "in": "body", "schema": {"type": "string"}}],
        "post": {
            "parameters": [
                {"name": "n", "in": "query", "type": "integer"},
                {"name": "other", "in": "body", "schema": {"type": "integer"}},
            ]
        },
    }
    document = _read({"/a": item}, parameters={"N": {"name": "n", "in": "query", "type": "string"}})
    (found,) = document.operations
    assert [one.json_schema for one in found.parameters] == [{"type": "integer"}]
    assert found.body is not None
    assert found.body.json_schema == {"type": "integer"}


def test_responses_are_read_behind_references_and_with_whole_numbers_as_keys():
    data = b"""
swagger: '2.0'
info: {title: T, version: '1'}
host: a.example
paths:
  /a:
    get:
      responses: {200: {$ref: '#/responses/Found'}}
responses:
  Found: {description: '', schema: {$ref: '#/definitions/A'}}
definitions:
  A: {type: integer}
"""
    (found,) = read_bytes(data, "t.yaml").operations
    assert found.output.json_schema == {"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}
    assert found.statuses == ("200",)


def test_a_file_is_answered_in_bytes():
    operation = {"produces": ["application/pdf"], "responses": {"200": {"schema": {"type": "file"}}}}
    assert _one(operation).output.media_type == "application/pdf"
    assert _one({"responses": operation["responses"]}).output.media_type == "application/octet-stream"


def test_security_definitions_are_schemes():
    definitions = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "name": "X-Key", "in": "header"},
        "app": {"type": "oauth2", "flow": "application", "tokenUrl": "https://auth.example.com/token"},
        "user": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "https://auth.example.com/token"},
        "odd": 7,
    }
    document = _read({"/a": {"get": {"security": [{"key": []}]}}}, securityDefinitions=definitions)
    schemes = {scheme.id: scheme for scheme in document.auth}
    assert schemes["basic"] == AuthScheme(id="basic", kind="http", scheme="basic")
    assert schemes["key"] == AuthScheme(id="key", kind="api_key", name="X-Key", location="header")
    assert schemes["app"].token is not None
    assert schemes["app"].token.origin.host == "auth.example.com"
    assert schemes["user"].token is None
    assert schemes["odd"].kind == "unknown"
    assert document.operations[0].auth == (("key",),)


@pytest.mark.parametrize(
    ("operation", "code", "wanted"),
    [
        ({"parameters": 7}, "parameters_invalid", '"parameters"'),
        ({"parameters": [7]}, "not_an_object", " 7"),
        ({"parameters": [{"in": "query"}]}, "parameter_without_name", '"in"'),
        ({"parameters": [{"name": "x", "in": []}]}, "parameter_location", '"name"'),
        ({"parameters": [{"$ref": "#/parameters/Gone"}]}, "unresolved_reference", "$ref"),
        ({"responses": 7}, "responses_invalid", '"responses"'),
        ({"responses": {"200": {"$ref": "#/responses/Gone"}}}, "unresolved_reference", "$ref"),
        (
            {"parameters": [{"name": "b", "in": "body", "schema": {"items": {"$ref": "#/gone"}}}]},
            "unresolved_reference",
            "$ref",
        ),
        ({"responses": {"200": {"schema": {"$ref": "#/definitions/Gone"}}}}, "unresolved_reference", "$ref"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_fails_one_operation_only(operation, code, wanted):
    paths = {"/a": {"post": operation}, "/b": {"get": {}}}
    document = _read(paths)
    (failed,) = document.failed
    assert failed.problem.code == code
    expected = _line({**TOP, "paths": paths}, wanted)
    assert failed.problem.position.line in {expected, expected - 1}
    assert [one.source.path for one in document.operations] == ["/b"]


def test_the_same_api_in_both_languages_is_the_same():
    pet = {"type": "object", "properties": {"name": {"type": "string"}}}
    old = _read(
        {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "type": "string"}],
                "post": {
                    "operationId": "p",
                    "parameters": [{"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}],
                    "responses": {"200": {"description": "", "schema": {"$ref": "#/definitions/Pet"}}},
                },
            }
        },
        definitions={"Pet": pet},
        schemes=["https"],
    )
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}
    new = {
        "openapi": "3.0.3",
        "info": TOP["info"],
        "servers": [{"url": "https://api.example.com/v1"}],
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "post": {
                    "operationId": "p",
                    "requestBody": {"content": content},
                    "responses": {"200": {"description": "", "content": content}},
                },
            }
        },
        "components": {"schemas": {"Pet": pet}},
    }
    there = read_bytes(json.dumps(new).encode(), "t.json")
    assert [one.plain() for one in old.operations] == [one.plain() for one in there.operations]
    assert old.servers == there.servers
    schema = assemble(old.operations[0].parameters, old.operations[0].body, old.operations[0].definitions)
    assert schema["$defs"] == {"Pet": pet}

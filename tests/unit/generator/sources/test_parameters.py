from __future__ import annotations

import pytest

from anvil_core.air import Constant
from anvil_generator.sources import arguments

STRING = {"schema": {"type": "string"}}


def _parameter(name, location="query", **rest):
    return {"name": name, "in": location, **STRING, **rest}


def _names(found):
    return {(p.location, p.name): p.argument for p in found.parameters}


@pytest.mark.parametrize(
    ("location", "given", "style", "explode"),
    [
        ("path", {}, "simple", False),
        ("query", {}, "form", True),
        ("header", {}, "simple", False),
        ("query", {"style": "spaceDelimited", "schema": {"type": "array"}}, "spaceDelimited", False),
        ("query", {"style": "deepObject", "schema": {"type": "object"}}, "deepObject", True),
        ("cookie", {}, "form", True),
        ("cookie", {"style": "cookie"}, "cookie", True),
        ("query", {"explode": False}, "form", False),
        ("path", {"style": "matrix", "explode": True}, "matrix", True),
    ],
)
def test_style_and_explode_default_as_the_specification_says(one, location, given, style, explode):
    (p,) = one(
        {"parameters": [_parameter("p", location, **given)]}, path="/{p}" if location == "path" else "/"
    ).parameters
    assert (p.style, p.explode, p.required) == (style, explode, location == "path")


def test_the_operation_wins_over_its_path(make):
    item = {
        "parameters": [_parameter("a"), _parameter("b"), _parameter("X-H", "header")],
        "get": {"parameters": [_parameter("b", required=True), _parameter("x-h", "header", required=True)]},
    }
    (found,) = make({"/a": item}).operations
    assert [(p.name, p.required) for p in found.parameters] == [("a", False), ("b", True), ("x-h", True)]


def test_description_and_deprecation_of_the_parameter_go_into_its_schema(one, tool):
    found = one({"parameters": [_parameter("a", description="What it is", deprecated=True, required=True)]})
    assert tool(found)["properties"]["a"] == {
        "type": "string",
        "description": "What it is",
        "deprecated": True,
    }
    assert tool(found)["required"] == ["a"]


@pytest.mark.parametrize("name", ["Accept", "content-type", "AUTHORIZATION", "Accept-Encoding"])
def test_headers_that_the_specification_ignores_are_ignored(one, name):
    assert one({"parameters": [_parameter(name, "header", required=True)]}).parameters == ()


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("Host", "header"),
        ("cookie", "header"),
        ("X-HTTP-Method-Override", "header"),
        ("X_HTTP_Method_Override", "header"),
        ("X-Forwarded-Host", "header"),
        ("Forwarded", "header"),
        ("Transfer-Encoding", "header"),
        ("X-Original-URI", "header"),
        ("Content-Encoding", "header"),
        ("_method", "query"),
        ("session", "cookie"),
    ],
)
def test_what_steers_the_request_is_never_an_argument(make, name, location):
    parameter = _parameter(name, location)
    optional = make({"/a": {"get": {"parameters": [parameter]}}})
    assert optional.operations[0].parameters == ()
    assert [p.code for p in optional.problems] == ["forbidden_parameter"]
    only = {**parameter, "required": True, "schema": {"enum": ["DELETE"]}}
    required = make({"/a": {"get": {"parameters": [only]}}})
    assert [w.reason for w in required.withheld] == ["forbidden_parameter"]
    assert required.operations == ()


def test_a_user_agent_that_the_document_asks_for_is_an_argument(one):
    (parameter,) = one({"parameters": [_parameter("User-Agent", "header", required=True)]}).parameters
    assert (parameter.argument, parameter.required) == ("User-Agent", True)


def test_a_credential_is_never_an_argument(make):
    components = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    document = make({"/a": {"get": {"parameters": [_parameter("x-key", "header")]}}}, components=components)
    assert document.operations[0].parameters == ()
    assert [p.code for p in document.problems] == ["credential_parameter"]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (_parameter("v", required=True, schema={"enum": ["1"]}), "1"),
        (_parameter("v", required=True, schema={"const": True}), "true"),
        (_parameter("v", "header", required=True, schema={"enum": [2]}), "2"),
        (_parameter("v", "header", required=True, schema={"$ref": "#/components/schemas/V"}), "7"),
        (_parameter("Api-Version", "header", schema={"type": "string", "default": "2024"}), "2024"),
        (_parameter("theme", "cookie", required=True, schema={"enum": ["dark"]}), "dark"),
    ],
)
def test_a_single_value_is_bound(one, parameter, value):
    found = one({"parameters": [parameter]}, components={"schemas": {"V": {"enum": ["7"]}}})
    assert found.constants == (Constant(name=parameter["name"], location=parameter["in"], value=value),)
    assert found.parameters == ()
    assert found.definitions == {}


def test_a_single_value_of_the_path_is_bound_where_it_stands_as_it_is(one):
    only = {"schema": {"enum": ["global"]}}
    bound = one({"parameters": [_parameter("scope", "path", **only)]}, path="/{scope}")
    assert bound.constants == (Constant(name="scope", location="path", value="global"),)
    styled = one({"parameters": [_parameter("scope", "path", style="matrix", **only)]}, path="/{scope}")
    assert [p.name for p in styled.parameters] == ["scope"]


@pytest.mark.parametrize(
    "parameter",
    [
        _parameter("v", schema={"enum": ["1"]}),
        _parameter("v", "cookie", required=True, schema={"enum": ["a; b=c"]}),
        _parameter("v", required=True, schema={"enum": ["1", "2"]}),
        _parameter("v", required=True, schema={"enum": [["1"]]}),
        _parameter("v", "header", required=True, schema={"enum": ["a\r\nHost: b"]}),
        _parameter("Prefer", "header", schema={"default": "return=minimal"}),
        _parameter("Api-Version", "header", schema={"enum": ["1", "2"], "default": "1"}),
        _parameter("version", schema={"default": "1"}),
    ],
)
def test_a_choice_stays_with_the_caller(one, parameter):
    found = one({"parameters": [parameter]})
    assert found.constants == ()
    assert len(found.parameters) == 1


def test_content_parameters_carry_their_media_type(one):
    content = {"application/json": {"schema": {"type": "object"}}}
    (p,) = one({"parameters": [{"name": "f", "in": "query", "content": content}]}).parameters
    assert (p.media_type, p.json_schema) == ("application/json", {"type": "object"})


LIST = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object", "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize(
    "parameter",
    [
        {"name": "f", "in": "query", "content": {"application/xml": {}}},
        {"name": "f", "in": "cookie", "content": {"application/json": {}}},
        _parameter("f", style="spaceDelimited"),
        _parameter("f", style="spaceDelimited", explode=True, schema=LIST),
        _parameter("f", style="pipeDelimited", schema={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        _parameter("f", style="pipeDelimited", explode=True, schema=OBJECT),
        _parameter("f", style="deepObject"),
        _parameter("f", style="deepObject", schema=LIST),
        _parameter("f", style="deepObject", explode=False, schema=OBJECT),
        _parameter("f", "cookie", schema=LIST),
        _parameter("f", "cookie", schema={"allOf": [{"$ref": "#/components/schemas/O"}]}),
        _parameter("f", schema={"type": "array", "items": {"type": "object"}}),
        _parameter("f", "header", schema={"type": "array", "items": LIST}),
    ],
)
def test_what_cannot_be_written_withholds_all_but_a_read_that_does_without(make, parameter):
    components = {"schemas": {"O": OBJECT}}
    optional = make({"/a": {"get": {"parameters": [parameter]}}}, components=components)
    assert optional.operations[0].parameters == ()
    assert [p.code for p in optional.problems] == ["encoding_unsupported"]
    for method, given in (("get", {**parameter, "required": True}), ("delete", parameter)):
        document = make({"/a": {method: {"parameters": [given]}}}, components=components)
        assert [w.reason for w in document.withheld] == ["encoding_unsupported"]
        assert document.withheld[0].position.line > document.withheld[0].source.line


@pytest.mark.parametrize(
    "parameter",
    [
        _parameter("f", style="spaceDelimited", schema=LIST),
        _parameter("f", style="pipeDelimited", schema=OBJECT),
        _parameter("f", style="pipeDelimited", schema={"oneOf": [{"type": "string"}, LIST]}),
        _parameter("f", style="deepObject", schema=OBJECT),
        _parameter("f", style="deepObject", schema={"properties": {}}),
        _parameter("f", "cookie", explode=False, schema=LIST),
        _parameter("f", "cookie", style="cookie", schema=LIST),
        _parameter("f", "cookie", content={"text/plain": {}}),
        _parameter("f", schema={}),
        _parameter("f", schema={"type": ["array", "null"], "items": {}}),
        _parameter("f", schema={"type": "array", "items": {"enum": [None]}}),
        _parameter("f", schema={"type": "null"}),
    ],
)
def test_what_some_value_of_can_be_written_is_an_argument(one, parameter):
    assert [p.name for p in one({"parameters": [parameter]}, version="3.1.0").parameters] == ["f"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, "parameters_invalid"),
        (["x"], "not_an_object"),
        ([{"in": "query"}], "parameter_without_name"),
        ([{"name": "", "in": "query"}], "parameter_without_name"),
        ([{"name": "a"}], "parameter_location"),
        ([{"name": "a", "in": ["query"]}], "parameter_location"),
        ([{"name": "a", "in": "body"}], "parameter_location"),
        ([_parameter("a b", "header", required=True)], "parameter_name"),
        ([_parameter("a", "header", style="form")], "parameter_style"),
        ([_parameter("a", style=["form"])], "parameter_style"),
        ([{"name": "a", "in": "query", "content": {}}], "parameter_content"),
    ],
)
def test_a_parameter_that_is_wrong_fails_its_operation_where_it_stands(make, parameters, code):
    document = make({"/a": {"get": {"parameters": parameters}, "put": {}}})
    (failed,) = document.failed
    assert (failed.problem.code, failed.source.method) == (code, "get")
    assert failed.problem.position.line > failed.source.line
    assert [found.source.method for found in document.operations] == ["put"]


def test_small_mistakes_are_warned_of(make):
    parameters = [
        _parameter("a"),
        _parameter("a", required=True),
        {"name": "b", "in": "query"},
        _parameter("c d", "cookie"),
    ]
    document = make({"/a": {"get": {"parameters": [*parameters, _parameter("z", "path")]}}})
    (found,) = document.operations
    assert [(p.name, p.required, p.json_schema) for p in found.parameters] == [
        ("a", False, {"type": "string"}),
        ("b", False, {"type": "string"}),
    ]
    assert {p.code for p in document.problems} == {
        "parameter_duplicate", "parameter_name", "parameter_without_schema", "path_parameter_unused",
    }  # fmt: skip


def test_arguments_keep_the_wire_name_where_they_can(one):
    found = one({"parameters": [_parameter(n) for n in ["Foo.bar-Baz_1", "filter[name]", "x" * 64, "ü"]]})
    names = _names(found)
    assert names["query", "Foo.bar-Baz_1"] == "Foo.bar-Baz_1"
    assert names["query", "filter[name]"] == "filter_name"
    assert names["query", "x" * 64] == "x" * 64
    assert names["query", "ü"] == "parameter"


def test_arguments_of_the_same_name_get_their_location(one):
    body = {"content": {"application/json": {}}}
    parameters = [
        _parameter("id", "path"),
        _parameter("id"),
        _parameter("body"),
        _parameter("id_query", "header"),
    ]
    found = one({"parameters": parameters, "requestBody": body}, path="/{id}")
    assert found.body.argument == "body"
    assert _names(found) == {
        ("path", "id"): "id_path",
        ("query", "id"): "id_query_2",
        ("query", "body"): "body_query",
        ("header", "id_query"): "id_query",
    }


def test_a_parameter_may_be_called_body_where_there_is_none(one):
    assert one({"parameters": [_parameter("body")]}).parameters[0].argument == "body"


def test_argument_names_do_not_depend_on_the_order():
    wires = [
        ("query", "a[b]"),
        ("query", "a_b"),
        ("query", "a.b!"),
        ("header", "a_b"),
        ("path", "body"),
        ("query", "y" * 90),
    ]
    forward = arguments.assign(wires, has_body=True)
    assert arguments.assign(reversed(wires), has_body=True) == forward
    assert len(set(forward.values()) | {"body"}) == len(wires) + 1
    assert all(arguments._PLAIN.fullmatch(name) for name in forward.values())

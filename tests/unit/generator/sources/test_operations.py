from __future__ import annotations

import pytest

from anvil_core.air import AuthScheme


def test_what_an_operation_says_of_itself(one):
    found = one(
        {
            "operationId": "a.b/c#d e", "summary": " S ", "description": "D", "tags": ["x", 7, "y"],
            "deprecated": True, "x-a": {"b": [1]}, "x-c": None,
        },
        path="/a/b",
    )  # fmt: skip
    assert (found.summary, found.description, found.tags, found.deprecated) == ("S", "D", ("x", "y"), True)
    assert found.extensions == {"x-a": {"b": [1]}, "x-c": None}
    assert (found.source.operation_id, found.source.pointer) == ("a.b/c#d e", "/paths/~1a~1b/post")


@pytest.mark.parametrize("operation_id", [None, "", "  ", 7, ["a"]])
def test_an_id_that_is_none_is_none(one, operation_id):
    assert one({"operationId": operation_id}).source.operation_id is None


def test_both_operations_with_the_same_id_are_kept_and_named(make):
    document = make({"/a": {"get": {"operationId": "x"}}, "/b": {"get": {"operationId": "x"}}})
    first, second = document.operations
    (problem,) = document.problems
    assert problem.code == "operation_id_duplicate"
    places = f"GET /a (t.json:{first.source.line}) and GET /b (t.json:{second.source.line})"
    assert places in problem.message
    assert problem.position.line == second.source.line + 1


@pytest.mark.parametrize("operation", [None, [], "x", 7])
def test_an_operation_that_is_no_object_is_counted_as_failed(make, operation):
    document = make({"/a": {"get": operation, "post": {}}})
    assert [failed.problem.code for failed in document.failed] == ["not_an_object"]
    assert len(document.operations) == 1


def test_trace_is_withheld(make):
    assert [w.reason for w in make({"/a": {"trace": {}}}).withheld] == ["method_unsupported"]


def test_a_path_item_that_is_no_object_is_told(make):
    document = make({"/a": None, "/b": {"get": {}}, "x-c": {"get": {}}})
    assert [failed.source.path for failed in document.failed] == ["/a"]
    assert [found.source.path for found in document.operations] == ["/b"]


def test_a_referenced_path_item_gives_its_operations_and_those_beside_it(make):
    shared = {"get": {"summary": "shared"}, "put": {"summary": "shared"}}
    document = make(
        {
            "/a": {"$ref": "#/components/pathItems/P", "get": {"summary": "own"}},
            "/b": {"$ref": "#/components/pathItems/P"},
        },
        version="3.1.0",
        components={"pathItems": {"P": shared}},
    )
    assert [(f.source.path, f.source.method, f.summary) for f in document.operations] == [
        ("/a", "get", "own"), ("/a", "put", "shared"), ("/b", "get", "shared"), ("/b", "put", "shared"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "//evil.example/a",
        "/a/../b",
        "/a/%2E%2e/b",
        "/./a",
        "/a?b=c",
        "/a b",
        "/a\\b",
        "/a{b",
        "/ä",
        "/a/{}",
    ],
)
def test_a_path_that_could_lead_elsewhere_fails(make, path):
    assert [failed.problem.code for failed in make({path: {"get": {}}}).failed] == ["path_invalid"]


def test_a_path_parameter_that_is_not_declared_fails(make):
    declared = {"parameters": [{"name": "b", "in": "query", "schema": {}}]}
    (failed,) = make({"/a/{b}": {"get": declared}}).failed
    assert (failed.problem.code, failed.problem.position.line) == (
        "path_parameter_missing",
        failed.source.line,
    )


def test_webhooks_and_callbacks_are_no_operations(make):
    document = make(
        {"/a": {"post": {"callbacks": {"c": {"{$request.body#/url}": {"post": {}}}}}}},
        version="3.1.0", webhooks={"w": {"post": {}}},
    )  # fmt: skip
    assert len(document.operations) == 1


@pytest.mark.parametrize(
    ("own", "auth"),
    [
        ({}, (("a",),)),
        ({"security": []}, ()),
        ({"security": [{"b": [], "a": ["s"]}, {}]}, (("a", "b"), ())),
        ({"security": [{"a": []}, {"a": ["s"]}]}, (("a",),)),
    ],
)
def test_requirements_of_the_operation_win_over_those_of_the_document(one, own, auth):
    schemes = {"a": {"type": "oauth2", "flows": {}}, "b": {"type": "http", "scheme": "Basic"}}
    assert one(own, components={"securitySchemes": schemes}, security=[{"a": []}]).auth == auth


@pytest.mark.parametrize("security", [None, {}, ["a"], [["a"]]])
def test_requirements_that_make_no_sense_fail_the_operation(make, security):
    assert [f.problem.code for f in make({"/a": {"get": {"security": security}}}).failed] == [
        "security_invalid"
    ]


def test_schemes(make):
    declared = {
        "key": {"type": "apiKey", "in": "query", "name": "k"},
        "basic": {"type": "http", "scheme": "Basic"},
        "oauth": {"type": "oauth2"},
        "oidc": {"type": "openIdConnect"},
        "tls": {"type": "mutualTLS"},
        "there": {"$ref": "#/components/securitySchemes/tls"},
        "odd": {"type": "apiKey", "in": "body", "name": "k"},
        "gone": {"$ref": "#/gone"},
    }
    document = make({"/a": {"get": {"security": [{"nobody": []}]}}}, components={"securitySchemes": declared})
    assert document.auth == (
        AuthScheme(id="key", kind="api_key", name="k", location="query"),
        AuthScheme(id="basic", kind="http", scheme="basic"),
        AuthScheme(id="oauth", kind="oauth2"),
        AuthScheme(id="oidc", kind="openid"),
        AuthScheme(id="tls", kind="mutual_tls"),
        AuthScheme(id="there", kind="mutual_tls"),
        AuthScheme(id="odd", kind="unknown"),
        AuthScheme(id="gone", kind="unknown"),
        AuthScheme(id="nobody", kind="unknown"),
    )
    assert [problem.code for problem in document.problems] == [
        "security_scheme_unknown", "unresolved_reference", "security_scheme_missing",
    ]  # fmt: skip


def test_what_stands_behind_a_hash_tells_operations_of_one_path_apart_and_is_not_sent(make):
    """Box writes them so; a request's path has no such part."""
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    document = make(
        {"/a/{id}": {"put": {"parameters": parameters}}, "/a/{id}#{x}": {"put": {"parameters": parameters}}}
    )
    assert document.failed == ()
    assert [one.source.path for one in document.operations] == ["/a/{id}", "/a/{id}#{x}"]
    assert {one.source.sent_path for one in document.operations} == {"/a/{id}"}

"""What people reported of other generators, each report a test: numbers are those of the project's case list.

Other tests hold the whole kind of each; these hold the very thing that went wrong.
"""

from __future__ import annotations

import json
import random

import pytest
from corpus import checks, library

from anvil_core import names, tools
from anvil_generator import harnesses
from anvil_generator.compiler import compile_project
from anvil_generator.project import open_project
from anvil_generator.report import left_out, report, summary

OK = {"responses": {"200": {"description": "ok"}}}


def _body(schema):
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}, **OK}


def _inputs(made):
    return {one.source.path: tools.input_schema(one) for one in made.air.operations}


@pytest.fixture
def real(tmp_path):
    return lambda name: compile_project(open_project(library.entries()[name].project(tmp_path / name)))


def test_1_a_recursive_body_keeps_its_definitions_and_terminates(compiled, project):
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
        "required": ["name"],
    }
    paths = {"/a": {"post": _body({"$ref": "#/components/schemas/Node"})}}
    made = compiled(project(paths, components={"schemas": {"Node": node}}))
    schema = _inputs(made)["/a"]
    assert schema["properties"]["body"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert list(checks.schemas(made)) == []


def test_2_a_reference_outside_components_resolves(compiled, project):
    paths = {"/a": {"post": _body({"$ref": "#/x-common-definitions/guid"})}}
    made = compiled(
        project(paths, **{"x-common-definitions": {"guid": {"type": "string", "format": "uuid"}}})
    )
    schema = _inputs(made)["/a"]
    assert list(schema["$defs"].values()) == [{"type": "string", "format": "uuid"}]
    assert list(checks.schemas(made)) == []


def test_3_operations_without_an_id_get_the_same_name_in_any_order(compiled, project):
    get = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {}}], **OK}
    paths = {
        "/users": {"get": OK, "post": {**OK, "operationId": ""}},
        "/users/{id}": {"get": get, "delete": {**get, "operationId": " "}},
        "/users/by-{id}": {"get": get},
    }
    found = []
    for seed in range(6):
        items = list(paths.items())
        random.Random(seed).shuffle(items)
        made = compiled(project(dict(items), name=str(seed)))
        found.append({(one.source.method, one.source.path): one.name for one in made.air.operations})
    assert all(one == found[0] for one in found)
    assert found[0]["get", "/users/{id}"] == "get_users_by_id"
    assert len(set(found[0].values())) == 5


def test_4_two_operations_with_one_id_are_both_kept_and_told_of(compiled, project):
    made = compiled(
        project({"/a": {"get": {"operationId": "x", **OK}}, "/b": {"get": {"operationId": "x", **OK}}})
    )
    assert {one.source.path for one in made.air.operations} == {"/a", "/b"}
    assert len({one.name for one in made.air.operations}) == 2
    (problem,) = (one for one in made.problems if one.code == "operation_id_duplicate")
    for one in made.air.operations:
        assert f"GET {one.source.path} (api.json:{one.source.line})" in problem.message


@pytest.mark.parametrize("name", ["paypal-payments", "box"])
def test_5_ids_with_dots_slashes_hashes_and_spaces_become_names_that_no_harness_changes(real, name):
    made = real(name)
    assert list(checks.tool_names(made)) == []
    odd = {one.title: one.name for one in made.air.operations if not one.title.isidentifier()}
    assert odd
    assert all(one.title == one.source.operation_id for one in made.air.operations)


def test_5_every_odd_character_of_an_id(compiled, project):
    odd = ["a.b", "a/b", "a#b", "a b", "a:b", "a-b", "ä", "名", "1st", "_", "a__b", "A", "preview", "get /x"]
    paths = {f"/{at}": {"get": {"operationId": one, **OK}} for at, one in enumerate(odd)}
    made = compiled(project(paths))
    assert list(checks.tool_names(made)) == []
    assert sorted(one.title for one in made.air.operations) == sorted(odd)


@pytest.mark.parametrize("name", ["adyen-management", "box"])
def test_6_names_over_64_characters_keep_a_readable_stem_and_a_hash(real, name):
    made = real(name)
    room = names.room(harnesses.longest_prefixes(made.air.service.id).values())
    assert list(checks.tool_names(made)) == []
    long = [one for one in made.air.operations if len(one.source.operation_id or "") > 64]
    assert len(long) > 5
    for one in long:
        stem, _, tail = one.name.rpartition("_")
        assert len(one.name) <= room
        assert len(tail) == names.HASH_LENGTH or one.name == names.snake(one.source.operation_id)
        assert stem.split("_")[0] in [*names.words(one.source.operation_id), "del", "new"]


ACCEPTED = {
    "an empty enum": {"type": "object", "properties": {"a": {"enum": []}}},
    "a $ref in an example": {"type": "object", "examples": [{"$ref": "see #/nowhere"}]},
    "a $ref in Markdown": {"type": "string", "description": "write `{$ref: '#/nowhere'}`"},
    "a property called $ref": {"type": "object", "properties": {"$ref": {"type": "string"}}},
    "a $ref in a default": {"default": {"$ref": "#/nowhere"}},
    "a const with a $ref": {"const": {"$ref": "#/nowhere"}},
    "tuples": {"prefixItems": [{"type": "string"}], "items": False},
    "conditions": {"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": "integer"}},
    "dependencies": {"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"a": ["b"]}},
    "several types": {"type": ["string", "null"]},
    "true": True,
    "false": {"properties": {"a": False}},
    "unevaluated": {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
    "definitions of its own": {"$defs": {"A": {"type": "string"}}, "properties": {"a": {"$ref": "#/x"}}},
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_12_valid_3_1_that_strict_parsers_refuse_is_accepted(compiled, project, what):
    made = compiled(project({"/a": {"post": _body(ACCEPTED[what])}}, x={"type": "string"}))
    assert made.total == len(made.air.operations) == 1
    assert made.document.problems == ()
    assert list(checks.schemas(made)) == []


@pytest.mark.parametrize("name", ["k8s-apps", "docker-engine", "slack-web"])
def test_13_invalid_but_used_documents_compile(real, name):
    made = real(name)
    assert len(made.air.operations) > 0.95 * made.total
    assert list(checks.schemas(made)) == []


def test_13_one_bad_operation_never_sinks_the_rest(compiled, project):
    bad = [7, {"parameters": 7}, {"parameters": [{"name": "x"}]}, {"responses": []}, {"requestBody": []}]
    bad += [{"parameters": [{"$ref": "#/gone"}]}, {"security": 7}, {"requestBody": {"content": 7}}]
    paths = {f"/bad{at}": {"get": one} for at, one in enumerate(bad)}
    made = compiled(project({**paths, "/good": {"get": OK}}))
    assert [one.source.path for one in made.air.operations] == ["/good"]
    assert len(made.document.failed) == len(bad)
    assert all(one.problem.position.line for one in made.document.failed)


def test_14_no_operation_is_lost_without_a_word(compiled, project):
    paths = {f"/{at}": {"get": OK if at % 3 else {"parameters": 7}, "trace": OK} for at in range(75)}
    made = compiled(project(paths))
    assert summary(made).startswith("150 operations in api.json: 50 compiled")
    assert "75 withheld, 25 failed" in summary(made)
    assert len(left_out(made)) == 100
    assert sum(len(part) for part in report(made)["accounting"].values()) == 150


def test_15_a_document_that_is_huge_when_expanded_stays_small(compiled, project):
    """Each schema refers twice to the next: 2^40 schemas when expanded, 41 as they are."""
    schemas = {
        f"S{at}": {"properties": {side: {"$ref": f"#/components/schemas/S{at + 1}"} for side in "lr"}}
        for at in range(40)
    }
    paths = {"/a": {"post": _body({"$ref": "#/components/schemas/S0"})}}
    made = compiled(project(paths, components={"schemas": {**schemas, "S40": {"type": "string"}}}))
    assert len(json.dumps(_inputs(made)["/a"])) < 10_000


def test_15_no_tool_of_kubernetes_is_larger_than_its_definitions(real):
    made = real("k8s-apps")
    assert max(len(json.dumps(schema)) for schema in _inputs(made).values()) < 200_000


def test_17_references_over_many_files_and_none_that_leaves_the_folder(compiled, project):
    paths = {f"/{at}": {"$ref": f"paths/{at}.json"} for at in range(20)}
    paths |= {"/up": {"$ref": "../up.json"}, "/net": {"$ref": "https://example.com/a.json"}}
    folder = project(paths)
    (folder.parent / "up.json").write_text("{}", encoding="utf-8")
    (folder / "paths").mkdir()
    for at in range(20):
        item = {"get": {"parameters": [{"$ref": f"{(at + 1) % 20}.json#/x"}], **OK}}
        item["x"] = {"name": f"n{at}", "in": "query", "schema": {"type": "string"}}
        (folder / "paths" / f"{at}.json").write_text(json.dumps(item), encoding="utf-8")
    made = compiled(folder)
    assert len(made.air.operations) == 20
    assert {one.source.path: one.reason for one in made.document.withheld} == {
        "/up": "external_reference",
        "/net": "external_reference",
    }

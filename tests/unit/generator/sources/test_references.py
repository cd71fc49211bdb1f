from __future__ import annotations

import json

import pytest

from anvil_generator.sources import definition_names, pointers, read_bytes


def _with_body(ref):
    return {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": ref}}}}}}


@pytest.mark.parametrize(
    ("ref", "top"),
    [
        ("#/x-common/guid", {"x-common": {"guid": {"type": "string"}}}),
        ("#/components/schemas/a~1b~0c", {"components": {"schemas": {"a/b~c": {"type": "string"}}}}),
        ("#/components/schemas/a%20b", {"components": {"schemas": {"a b": {"type": "string"}}}}),
        (
            "#/components/schemas/A/properties/x",
            {"components": {"schemas": {"A": {"properties": {"x": {"type": "string"}}}}}},
        ),
        ("#/x-list/1", {"x-list": [{}, {"type": "string"}]}),
        ("t.json#/components/schemas/A", {"components": {"schemas": {"A": {"type": "string"}}}}),
        ("./t.json#/components/schemas/A", {"components": {"schemas": {"A": {"type": "string"}}}}),
    ],
)
def test_any_local_pointer_resolves(make, tool, accepts, ref, top):
    (operation,) = make({"/a": _with_body(ref)}, **top).operations
    assert accepts(tool(operation), {"body": "x"})
    assert not accepts(tool(operation), {"body": 1})


@pytest.mark.parametrize(
    "ref", ["#/components/schemas/Gone", "#/paths/~1b/get/tags/7", "#name", "#/openapi", "#/servers/-1"]
)
def test_a_reference_to_nothing_fails_only_its_operation(make, ref):
    document = make({"/a": _with_body(ref), "/b": {"get": {}}})
    (failed,) = document.failed
    assert failed.problem.code in {"unresolved_reference", "not_a_schema"}
    assert failed.source.path == "/a"
    assert failed.problem.severity == "warning"
    assert failed.problem.operation == "POST /a"
    assert [found.source.path for found in document.operations] == ["/b"]


def test_the_place_of_a_dangling_reference_is_told_wherever_it_is_reached_from(make):
    schemas = {
        "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"items": {"$ref": "#/gone"}},
    }
    document = make(
        {"/a": _with_body("#/components/schemas/A"), "/b": _with_body("#/components/schemas/B")},
        components={"schemas": schemas},
    )
    first, second = document.failed
    assert first.problem.position == second.problem.position
    assert first.problem.position.line > first.source.line


@pytest.mark.parametrize(
    "ref", ["other.yaml#/A", "https://example.com/a.json", "../up.json", "file:///etc/passwd"]
)
def test_a_reference_that_leaves_the_document_withholds_the_operation(make, ref):
    document = make({"/a": _with_body(ref), "/b": {"get": {}}})
    (withheld,) = document.withheld
    assert withheld.reason == "external_reference"
    assert ref in withheld.detail
    assert withheld.position.line > withheld.source.line
    assert len(document.operations) == 1


def test_an_external_path_item_is_withheld_as_a_whole(make):
    document = make({"/a": {"$ref": "a.yaml"}, "/b": {"get": {}}})
    (withheld,) = document.withheld
    assert (withheld.source.path, withheld.source.method) == ("/a", "*")


def test_references_that_lead_in_a_circle_fail(make):
    parameters = {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}
    document = make(
        {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}]}}},
        components={"parameters": parameters},
    )
    assert [failed.problem.code for failed in document.failed] == ["reference_cycle"]


def test_schemas_that_are_only_references_to_each_other_still_terminate(make):
    ref = "#/components/schemas/"
    document = make(
        {"/a": _with_body(ref + "A")},
        components={"schemas": {"A": {"$ref": ref + "B"}, "B": {"$ref": ref + "A"}}},
    )
    assert len(document.operations) == 1


def test_a_long_chain_of_references_is_no_recursion():
    ref = "#/components/schemas/S"
    schemas = {f"S{n}": {"properties": {"next": {"$ref": f"{ref}{n + 1}"}}} for n in range(5000)}
    components = {"schemas": {**schemas, "S5000": {}}}
    raw = {"openapi": "3.1.0", "paths": {"/a": _with_body(ref + "0")}, "components": components}
    (operation,) = read_bytes(json.dumps(raw).encode(), "a.json").operations
    assert len(operation.definitions) == 5001


def test_names_of_definitions_are_told_apart_and_do_not_depend_on_each_other(make):
    top = {
        "components": {
            "schemas": {"A": {"type": "string"}, "a b": {"type": "integer"}, "a_b": {"type": "boolean"}}
        },
        "x-s": {"A": {"type": "number"}},
    }
    refs = ["#/components/schemas/A", "#/x-s/A", "#/components/schemas/a b", "#/components/schemas/a_b"]
    names = {ref: list(make({"/a": _with_body(ref)}, **top).operations[0].definitions)[0] for ref in refs}  # noqa: RUF015
    together = make({f"/{n}": _with_body(ref) for n, ref in enumerate(refs)}, **top)
    assert [list(found.definitions)[0] for found in together.operations] == list(names.values())  # noqa: RUF015
    assert names[refs[0]] == "A"
    assert len(set(names.values())) == 4


def test_a_component_named_like_a_hashed_name_is_hashed_too():
    hashed = definition_names.name(("x-s", "A"))
    assert definition_names.name(("components", "schemas", hashed)) != hashed


@pytest.mark.parametrize("pointer", [(), ("a",), ("a/b", "~1", ""), ("0",)])
def test_pointers_are_read_as_they_are_written(pointer):
    assert pointers.parse_fragment(pointers.write(pointer)) == pointer

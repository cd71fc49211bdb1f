"""The shared documents: every operation accounted for, every schema valid, every line true."""

from __future__ import annotations

import pytest

from anvil_core.air import Constant
from anvil_generator.sources import read

# name: operations, withheld. Nothing fails in any of them.
EXPECTED = {
    "paypal": (7, 0),
    "notion": (24, 0),
    "payments": (8, 0),
    "petstore3": (19, 0),
    "museum_31": (8, 0),
    "box-v2026": (3, 0),
}


@pytest.mark.invariant("I6")
@pytest.mark.parametrize("name", EXPECTED)
def test_every_operation_is_accounted_for(name, documents, count_operations):
    document = read(documents[name])
    total, withheld = EXPECTED[name]
    assert count_operations(documents[name]) == total
    assert (len(document.operations), len(document.withheld)) == (total - withheld, withheld)
    assert document.failed == ()
    places = [(found.source.path, found.source.method) for found in document.operations + document.withheld]
    assert len(set(places)) == total


@pytest.mark.parametrize("name", EXPECTED)
def test_every_schema_is_valid_and_closed(name, documents, check_schema, tool):
    for operation in read(documents[name]).operations:
        schema = tool(operation)
        assert schema["type"] == "object"
        assert not {"allOf", "anyOf", "oneOf", "not", "if", "$ref"} & schema.keys()
        check_schema(schema)
        if operation.output.json_schema is not None:
            check_schema(operation.output.json_schema)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_line_of_an_operation_holds_its_method(name, documents):
    lines = documents[name].read_text(encoding="utf-8").splitlines()
    for found in read(documents[name]).operations:
        written = lines[found.source.line - 1].strip().strip('"')
        assert written.startswith(found.source.method), (found.source, written)


@pytest.mark.invariant("I8")
@pytest.mark.parametrize("name", EXPECTED)
def test_the_same_document_gives_the_same_result(name, documents):
    assert read(documents[name]) == read(documents[name])


def test_a_version_header_of_notion_is_bound(documents):
    for found in read(documents["notion"]).operations:
        assert "Notion-Version" not in [parameter.name for parameter in found.parameters]
        if found.source.path.endswith("/markdown"):
            assert found.constants == (
                Constant(name="Notion-Version", location="header", value="2026-03-11"),
            )


def test_a_header_with_a_single_value_is_bound_in_box(documents):
    for found in read(documents["box-v2026"]).operations:
        assert found.constants == (Constant(name="box-version", location="header", value="2026.0"),)


def test_paypal_keeps_its_key_as_an_argument_and_its_dotted_ids(documents):
    found = {one.source.operation_id: one for one in read(documents["paypal"]).operations}
    assert "PayPal-Request-Id" in [p.argument for p in found["captures.refund"].parameters]
    assert found["captures.refund"].auth == (("Oauth2",),)
    assert found["authorizations.void"].statuses == ("200", "204")


def test_an_octet_stream_of_petstore_is_given_as_base64(documents):
    found = {one.source.path: one for one in read(documents["petstore3"]).operations}
    body = found["/pet/{petId}/uploadImage"].body
    assert (body.media_type, body.encoded) == ("application/octet-stream", False)
    assert body.json_schema["description"] == "The bytes as base64 text."

from __future__ import annotations

import pytest

from anvil_core import media_types
from anvil_core.air import Output


def _request(*types, **rest):
    return {"requestBody": {"content": {t: {"schema": {"type": "string"}} for t in types}, **rest}}


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["text/plain", "application/json"], "application/json"),
        (
            ["application/merge-patch+json", "application/json; charset=utf-8"],
            "application/json; charset=utf-8",
        ),
        (["application/x-www-form-urlencoded", "application/json-patch+json"], "application/json-patch+json"),
        (["application/json-patch+json", "application/merge-patch+json"], "application/merge-patch+json"),
        (["application/json-patch+json", "application/a+json"], "application/a+json"),
        (["application/b+json", "application/a+json"], "application/b+json"),
        (["text/plain", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["text/plain", "multipart/form-data"], "multipart/form-data"),
        (["text/plain", "*/*"], "application/json"),
        (["text/json", "text/plain"], "text/json"),
        (["text/json", "application/json"], "application/json"),
        (["*/*", "application/a+json"], "application/a+json"),
        (["application/xml", "Text/Plain"], "Text/Plain"),
        (["application/octet-stream", "text/csv"], "text/csv"),
        (["image/png", "application/octet-stream"], "application/octet-stream"),
        (["text/*"], "text/plain"),
    ],
)
def test_the_media_type_of_a_body_is_chosen_by_the_rule(one, offered, chosen):
    anything = {t: {"schema": {}} for t in offered}
    assert one({"requestBody": {"content": anything}}).body.media_type == chosen


@pytest.mark.parametrize(
    "offered", [["application/xml"], ["image/png"], ["application/soap+xml"], ["multipart/mixed"], ["a/b"]]
)
def test_a_body_that_cannot_be_sent_withholds_the_operation(make, offered):
    (withheld,) = make({"/a": {"post": _request(*offered)}}).withheld
    assert withheld.reason == "encoding_unsupported"
    assert withheld.position.line > withheld.source.line


@pytest.mark.parametrize(
    ("media_type", "schema"),
    [
        ("text/plain", {"type": "object"}),
        ("application/octet-stream", {"type": "array", "items": {}}),
        ("multipart/form-data", {"type": "string"}),
        ("application/x-www-form-urlencoded", {"type": "array", "items": {}}),
    ],
)
def test_a_schema_that_the_media_type_cannot_hold_leaves_it_to_the_next(make, media_type, schema):
    alone = {media_type: {"schema": schema}}
    (withheld,) = make({"/a": {"post": {"requestBody": {"content": alone}}}}).withheld
    assert withheld.reason == "encoding_unsupported"
    both = {**alone, "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    if media_type != "application/octet-stream":
        (found,) = make({"/a": {"post": {"requestBody": {"content": both}}}}).operations
        assert found.body.media_type == "application/octet-stream"


def test_what_can_be_sent_is_said_in_one_place(make, monkeypatch):
    less = media_types.SUPPORTED_BODIES - {"multipart"}
    monkeypatch.setattr(media_types, "SUPPORTED_BODIES", less)
    (withheld,) = make({"/a": {"post": _request("multipart/form-data")}}).withheld
    assert withheld.reason == "encoding_unsupported"


@pytest.mark.parametrize(
    ("media_type", "schema", "version", "wire", "encoded"),
    [
        (
            "application/octet-stream",
            {"type": "string", "format": "binary"},
            "3.0.3",
            "application/octet-stream",
            False,
        ),
        ("application/octet-stream", {}, "3.1.0", "application/octet-stream", False),
        (
            "application/octet-stream",
            {"type": "string", "format": "byte"},
            "3.0.3",
            "application/octet-stream",
            True,
        ),
        (
            "application/octet-stream",
            {"type": "string", "contentEncoding": "base64"},
            "3.1.0",
            "application/octet-stream",
            True,
        ),
        ("*/*", {"type": "string", "format": "binary"}, "3.0.3", "application/octet-stream", False),
        ("*/*", {"type": "object"}, "3.0.3", "application/json", False),
    ],
)
def test_bytes_are_told_from_base64_that_is_sent_as_it_is(one, media_type, schema, version, wire, encoded):
    content = {media_type: {"schema": schema}}
    body = one({"requestBody": {"content": content, "description": "D"}}, version=version).body
    assert (body.media_type, body.encoded) == (wire, encoded)
    told = "D The bytes as base64 text." if wire != "application/json" and not encoded else "D"
    assert body.json_schema["description"] == told


def test_a_body_may_be_optional_and_brings_its_description(one, tool):
    found = one(_request("application/json", description="The thing"))
    assert tool(found) == {
        "type": "object",
        "properties": {"body": {"type": "string", "description": "The thing"}},
        "additionalProperties": False,
    }
    assert tool(one(_request("application/json", required=True)))["required"] == ["body"]


@pytest.mark.parametrize("body", [{}, {"content": {}}, {"content": []}, [], {"$ref": "#/gone"}])
def test_a_body_that_is_none_fails(make, body):
    document = make({"/a": {"post": {"requestBody": body}}})
    assert len(document.failed) == 1


def _answers(**responses):
    return {
        "responses": {
            code.strip("_"): {"content": {t: {"schema": {"const": t}} if s else {} for t, s in r}}
            for code, r in responses.items()
        }
    }


J, X = ("application/json", True), ("text/xml", True)


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        ({"_404": [J], "_201": [J], "_200": [("a/b+json", True)]}, ("a/b+json", True)),
        ({"_200": [X], "_202": [J]}, ("application/json", True)),
        ({"_204": [], "_2XX": [J]}, ("application/json", True)),
        ({"_206": [X], "default": [J]}, ("text/xml", False)),
        ({"default": [J], "_400": [J]}, ("application/json", True)),
        ({"_200": [("application/json", False)]}, ("application/json", False)),
        ({"_204": []}, (None, False)),
        ({}, (None, False)),
    ],
)
def test_the_output_is_the_first_success_answer_in_json(one, responses, expected):
    output = one(_answers(**responses)).output
    assert (output.media_type, output.json_schema is not None) == expected
    if output.json_schema is not None:
        assert output.json_schema == {"const": output.media_type}


def test_the_output_carries_its_own_definitions_and_the_input_does_not(one):
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}
    found = one(
        {"responses": {"200": {"$ref": "#/components/responses/R"}}},
        components={"schemas": {"A": {"type": "string"}}, "responses": {"R": {"content": content}}},
    )
    assert found.output == Output(
        media_type="application/json", json_schema={"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}
    )
    assert found.definitions == {}


def test_statuses_are_the_declared_success_codes(one):
    codes = ["500", "2XX", "204", "201", "200", "default"]
    assert one({"responses": {code: {} for code in codes}}).statuses == ("200", "201", "204", "2XX")


@pytest.mark.parametrize("responses", [[], "x", {"200": 7}, {"200": {"$ref": "#/gone"}}])
def test_responses_that_are_none_fail(make, responses):
    assert len(make({"/a": {"get": {"responses": responses}}}).failed) == 1

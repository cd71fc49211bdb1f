"""What people reported of how other generators write requests: numbers are those of the case list.

Each goes the whole way, from the document to the request that an API would read. The whole kind of each is
held by the tests of styles, bodies, fields and the full contract.
"""

from __future__ import annotations

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from anvil_core import tools
from anvil_runtime import answers, arguments
from anvil_runtime.client import Answer
from anvil_runtime.origin import target
from anvil_runtime.plan import make_plan
from tests.unit.generator.conftest import OK

TEXT = {"type": "string"}
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
CARD = {"type": "object", "properties": {"card": TEXT}, "required": ["card"]}
BANK = {"type": "object", "properties": {"iban": TEXT}, "required": ["iban"]}


@pytest.fixture
def one(project, compiled):
    """A function: (operation, service) of a document with one operation."""

    def make(method, **operation):
        made = compiled(project({"/items": {method: {"operationId": "items", **OK, **operation}}}))
        (found,) = made.air.operations
        return found, made.air.service

    return make


def sent(made, args):
    """The request as a server reads it."""
    operation, service = made
    assert arguments.problems(operation, args, arguments.Validators()) == []
    plan = make_plan(operation, args, target(service, {}))
    built = EnvironBuilder(
        path=plan.path,
        query_string=plan.query,
        method=plan.method,
        headers=list(plan.headers),
        data=plan.body,
    )
    return Request(built.get_environ())


def body(media_type, schema, **entry):
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema, **entry}}}}


@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_case_7_a_root_combinator_stays_out_of_the_root_and_is_enforced(one, word):
    operation, _ = one("post", **body("application/json", {word: [CARD, BANK]}))
    served = tools.input_schema(operation)
    assert served["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf"} & served.keys()
    good = {"card": "1", "iban": "2"} if word == "allOf" else {"card": "1"}
    assert arguments.problems(operation, {"body": good}, arguments.Validators()) == []
    assert arguments.problems(operation, {"body": {}}, arguments.Validators()) != []


def test_case_8_a_deep_object_keeps_the_name_of_its_parameter(one):
    parameter = {"name": "filter", "in": "query", "style": "deepObject", "explode": True, "required": True}
    schema = {"type": "object", "properties": {"eq": TEXT, "or": TEXT}}
    request = sent(
        one("get", parameters=[{**parameter, "schema": schema}]), {"filter": {"eq": "a&b", "or": ""}}
    )
    assert list(request.args.items()) == [("filter[eq]", "a&b"), ("filter[or]", "")]


def test_case_9_a_urlencoded_form_repeats_its_fields_and_is_no_json(one):
    schema = {
        "type": "object",
        "properties": {"to": {"type": "array", "items": TEXT}, "meta": {"type": "object"}},
    }
    request = sent(one("post", **body(FORM, schema)), {"body": {"to": ["a b", "c&d"], "meta": {"k": 1}}})
    assert request.mimetype == FORM
    assert request.form.getlist("to") == ["a b", "c&d"]
    assert request.form["meta"] == '{"k":1}'


def test_case_9_a_multipart_form_has_its_boundary_and_its_files(one):
    file = {"type": "string", "format": "binary"}
    made = one("post", **body(MULTIPART, {"type": "object", "properties": {"note": TEXT, "file": file}}))
    with sent(made, {"body": {"note": "é", "file": "data:image/png;name=a.png;base64,iVBORw=="}}) as request:
        upload = request.files["file"]
        assert (upload.filename, upload.mimetype, upload.read()) == ("a.png", "image/png", b"\x89PNG")
        assert request.form["note"] == "é"


def test_case_9_an_octet_stream_is_its_bytes(one):
    made = one("put", **body("application/octet-stream", {"type": "string", "format": "binary"}))
    request = sent(made, {"body": "AAH/"})
    assert (request.mimetype, request.get_data()) == ("application/octet-stream", b"\x00\x01\xff")


def test_case_9_a_cookie_is_sent_and_not_dropped(one):
    made = one("get", parameters=[{"name": "theme", "in": "cookie", "schema": TEXT}])
    assert sent(made, {"theme": "dark"}).cookies["theme"] == "dark"


def test_case_16_an_answer_that_is_not_as_described_is_a_success_with_its_violations(one):
    described = {"description": "ok", "content": {"application/json": {"schema": CARD}}}
    operation, _ = one("get", responses={"200": described})
    answer = Answer(status=200, reason="OK", media_type="application/json", body=b'{"card": 7}')
    envelope = answers.success(operation, answer, arguments.Validators())
    assert envelope["raw"] == {"card": 7}
    assert "card" in envelope["violations"][0]

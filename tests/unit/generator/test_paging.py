"""Paged results and long-running work: what counts as a sign, and what a caller is told of it."""

from __future__ import annotations

import pytest

from anvil_core import tools
from anvil_generator.paging import with_status_tools
from tests.unit.generator.conftest import OK

CURSOR = "Pages its results: `cursor` takes"
MARKER = "Pages its results: `marker` takes"
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


def answer(schema=None, headers=(), status="200"):
    made = {"description": "ok", "headers": {name: {"schema": {"type": "string"}} for name in headers}}
    if schema is not None:
        made["content"] = {"application/json": {"schema": schema}}
    return {"responses": {status: made}}


def fields(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


@pytest.fixture
def listed(project, compiled):
    """A function: the one operation of a document, a GET with these query parameters."""

    def make(*names, answers=OK, method="get", operation_id="listThings", **rest):
        parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
        one = {"operationId": operation_id, "parameters": parameters, **answers, **rest}
        (operation,) = compiled(project({"/things": {method: one}})).air.operations
        return operation

    return make


@pytest.mark.parametrize(
    ("names", "answers", "sentence"),
    [
        (
            ("cursor", "limit"),
            answer(fields("next_cursor")),
            f"{CURSOR} the value of `next_cursor` of the page before; `limit` sets how much is on one.",
        ),
        (
            ("marker", "limit"),
            OK,
            f"{MARKER} the cursor of the page before; `limit` sets how much is on one.",
        ),
        (
            ("starting_after",),
            OK,
            "Pages its results: `starting_after` takes the cursor of the page before.",
        ),
        (
            ("continue",),
            answer({"properties": {"metadata": fields("continue")}}),
            "Pages its results: `continue` takes the value of `metadata.continue` of the page before.",
        ),
        (
            ("PageSize", "Page"),
            OK,
            "Pages its results: `Page` says which page; `PageSize` sets how much is on one.",
        ),
        (
            ("count", "page"),
            answer(headers=["Link"]),
            "Pages its results: `page` says which page; `count` sets how much is on one.",
        ),
        (
            ("$skip", "$top"),
            OK,
            "Pages its results: `skip` says from where on; `top` sets how much is on one.",
        ),
        (("filter",), answer(headers=["link"]), "Its answer may be one page of several."),
    ],
)
def test_paged_results_are_told_with_their_evidence(listed, names, answers, sentence):
    operation = listed(*names, answers=answers)
    assert tools.contract_sentences(operation) == [sentence]
    (evidence,) = [one for one in operation.evidence if one.field == "pagination"]
    assert evidence.basis == "guess"
    assert any(name in evidence.note for name in (*operation.pagination.arguments, "Link"))
    assert evidence.line == operation.source.line


@pytest.mark.parametrize(
    ("names", "answers"),
    [
        ((), OK),
        (("limit",), OK),
        (("after", "before"), OK),
        (("token",), OK),
        (("homepage", "country", "pageant"), OK),
        ((), answer(fields("next"))),
    ],
)
def test_one_doubtful_sign_is_none(listed, names, answers):
    assert listed(*names, answers=answers).pagination is None


def test_a_read_by_post_pages_in_its_body(listed):
    body = {"content": {"application/json": {"schema": fields("start_cursor", "page_size")}}}
    operation = listed(method="post", operation_id="searchThings", requestBody=body)
    assert operation.effect.kind == "read"
    assert operation.pagination.arguments == ("body.start_cursor", "body.page_size")


@pytest.mark.parametrize(
    ("rest", "note"),
    [
        (answer(status="202"), "it answers 202"),
        (answer(status="202", headers=["Operation-Location", "X"]), "it answers 202 with Operation-Location"),
        ({**OK, "x-ms-long-running-operation": True}, "x-ms-long-running-operation"),
    ],
)
def test_work_that_goes_on_is_told_with_its_evidence(listed, rest, note):
    operation = listed(method="post", operation_id="exportThings", answers=rest)
    assert [(one.note, one.basis) for one in operation.evidence if one.field == "long_running"] == [
        (note, "document")
    ]
    said = tools.contract_sentences(operation)
    assert "Starts work that goes on after the answer; ask for its state afterwards." in said


def test_a_read_that_is_not_ready_is_called_again(listed):
    said = tools.contract_sentences(listed(answers=answer(status="202")))
    assert said == ["May answer before it is ready (202); call it again later."]


def test_an_answer_that_is_complete_is_no_work_that_goes_on(listed):
    assert not listed(method="post", answers=answer(status="201")).long_running


def test_the_tool_that_tells_the_state_is_named_where_it_is_approved(project, compiled):
    paths = {
        "/exports": {"post": {"operationId": "startExport", **answer(status="202", headers=["Location"])}},
        "/exports/{id}": {"get": {"operationId": "getExport", "parameters": [ID], **OK}},
    }
    operations = compiled(project(paths)).air.operations
    assert [one.status_tool for one in operations] == [None, None]
    approved = tuple(one.model_copy(update={"state": "approved"}) for one in operations)
    by_name = {one.name: one for one in with_status_tools(approved)}
    assert (by_name["start_export"].status_tool, by_name["get_export"].status_tool) == ("get_export", None)
    said = tools.contract_sentences(by_name["start_export"])
    assert (
        "Starts work that goes on after the answer; ask for its state afterwards with `get_export`." in said
    )

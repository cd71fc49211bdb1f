from __future__ import annotations

import jsonschema_rs
import pytest

from anvil_runtime import answers
from anvil_runtime.arguments import Validators
from anvil_runtime.client import Answer


def answer(body: bytes, media_type: str = "application/json", status: int = 200, **more) -> Answer:
    return Answer(status, "OK", media_type, body, **more)


NO_SCHEMA = {"media_type": None, "json_schema": None}


@pytest.mark.parametrize(
    ("body", "media_type", "output", "expected"),
    [
        (b'{"id": "1", "more": 2}', "application/json", None, {"data": {"id": "1", "more": 2}}),
        (b'{"id": "1"}', "application/hal+json; charset=utf-8", None, {"data": {"id": "1"}}),
        (b'{"id": "1"}', "", None, {"data": {"id": "1"}}),
        (b"", "application/json", NO_SCHEMA, {"data": None}),
        (b"", "application/json", None, {"raw": None, "violations": ["The answer is empty."]}),
        (
            b'{"id": 1}',
            "application/json",
            None,
            {"raw": {"id": 1}, "violations": ['id: 1 is not of type "string"']},
        ),
        (
            b"<html>",
            "text/html",
            None,
            {"raw": "<html>", "violations": ['(all): "<html>" is not of type "object"']},
        ),
        (b"{cut", "application/json", None, {"raw": "{cut", "violations": ["The answer is not JSON."]}),
        (b"NaN", "application/json", NO_SCHEMA, {"raw": "NaN", "violations": ["The answer is not JSON."]}),
        (b"hi", "text/plain", NO_SCHEMA, {"data": "hi"}),
        (b"\x00\xff", "application/octet-stream", NO_SCHEMA, {"data": "AP8="}),
    ],
)
def test_an_answer_in_its_envelope(operation, body, media_type, output, expected):
    one = operation() if output is None else operation(output=output)
    envelope = answers.success(one, answer(body, media_type), Validators())
    assert envelope == expected
    assert jsonschema_rs.is_valid(answers.output_schema(one), envelope)


def test_the_output_schema_holds_the_answer_to_the_contract(operation):
    schema = answers.output_schema(operation())
    assert schema["type"] == "object"
    assert schema["$defs"] == {"Id": {"type": "string"}}
    assert not jsonschema_rs.is_valid(schema, {"data": {"id": 1}})
    assert not jsonschema_rs.is_valid(schema, {"else": 1})


def test_an_answer_too_long_says_that_the_call_was_carried_out(operation):
    envelope = answers.success(operation(), answer(b'{"id": "1', cut=True), Validators())
    assert envelope["raw"] == '{"id": "1'
    assert "The call was carried out." in envelope["violations"][-1]


def test_a_schema_that_cannot_be_used_does_not_hide_the_answer(operation):
    one = operation(output={"media_type": "application/json", "json_schema": {"type": "nonsense"}})
    envelope = answers.success(one, answer(b"1"), Validators())
    assert envelope["raw"] == 1
    assert "cannot be used" in envelope["violations"][0]


@pytest.mark.parametrize(
    ("status", "idempotent", "retryable", "safe"),
    [
        (400, False, False, True),
        (404, True, False, True),
        (429, False, True, True),
        (408, False, False, False),
        (500, False, False, False),
        (503, True, True, True),
        (302, False, False, False),
        (304, True, False, True),
    ],
)
def test_an_answer_that_is_no_success(operation, status, idempotent, retryable, safe):
    refused = answers.failure(operation(), answer(b'{"why": 1}', status=status), idempotent=idempotent)
    assert (refused.code, refused.retryable, refused.safe_to_retry) == ("upstream_error", retryable, safe)
    assert refused.upstream == {"status": status, "body": {"why": 1}}
    assert str(status) in refused.message


def test_a_redirect_says_so(operation):
    refused = answers.failure(
        operation(), answer(b"", status=302, location="https://evil.example/"), idempotent=True
    )
    assert "a redirect to 'https://evil.example/'; redirects are never followed" in refused.message


def test_a_long_error_is_cut(operation):
    refused = answers.failure(operation(), answer(b"x" * 100_000, "text/plain", status=500), idempotent=True)
    assert len(refused.upstream["body"]) == answers.LONGEST_ERROR_BODY


def test_the_words_of_a_long_problem_are_in_the_message(operation):
    body = b'{"title": "Too much", "detail": "at most 5", "errors": "' + b"x" * 10_000 + b'"}'
    one = answer(body, "application/problem+json", status=422)
    refused = answers.failure(operation(), one, idempotent=True)
    assert "Too much: at most 5" in refused.message
    assert len(refused.upstream["body"]) == answers.LONGEST_ERROR_BODY

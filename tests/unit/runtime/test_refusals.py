from __future__ import annotations

import pytest

from anvil_runtime.refusals import FAILURES, RETRY, envelope, refuse, refuse_internally
from anvil_runtime.words import REFUSALS, refusal_text


def test_every_code_of_the_contract_says_whether_to_retry():
    assert set(RETRY) == set(REFUSALS)
    assert set(RETRY) >= FAILURES


def test_the_envelope():
    error = envelope(refuse("unknown_operation", "x"))["error"]
    assert list(error) == [
        "code",
        "message",
        "operation",
        "required",
        "retryable",
        "safe_to_retry",
        "trace_id",
    ]
    assert error["message"] == refusal_text("unknown_operation", "x")
    assert error["trace_id"] != envelope(refuse("unknown_operation", "x"))["error"]["trace_id"]


def test_a_failure_of_the_servers_own_shows_no_traceback():
    error = envelope(refuse_internally("x", KeyError("secret")))["error"]
    assert error["code"] == "internal_error"
    assert "KeyError" in error["message"]
    assert "secret" not in error["message"]


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_each_text_names_the_tool_and_fills_in_all_it_needs(code):
    parts = {"state": "blocked", "needs": "- x", "how": "Ask.", "detail": "Details."}
    text = refusal_text(code, "refund_payment", **parts)
    assert "refund_payment" in text
    assert "{" not in text

"""All the gates in their order: each refuses with its own code although every later one would refuse too."""

from __future__ import annotations

import pytest

from anvil_runtime.client import Answer, BrokenError, NotSentError, TimedOutError
from anvil_runtime.execute import execute

AUTH = {"auth": [["key"], ["oauth", "tenant"]]}
BAD_ORIGIN = {"ANVIL_BASE_URL": "http://evil.example"}
KEY = {"idempotency_key": "key-0001"}
FITS = {"charge": "ch_1", "body": {"amount": 5}}


@pytest.mark.parametrize(
    ("name", "args", "environ", "changes", "code"),
    [
        ("refund", {}, BAD_ORIGIN, AUTH, "unknown_operation"),
        ("charge_scrub", {"nonsense": 1}, BAD_ORIGIN, AUTH, "operation_not_approved"),
        ("refund_create", [], BAD_ORIGIN, AUTH, "invalid_arguments"),
        ("refund_create", {"nonsense": 1, "dry_run": True}, BAD_ORIGIN, AUTH, "invalid_arguments"),
        ("refund_create", {**FITS, "dry_run": True}, {}, AUTH, None),
        ("refund_create", FITS, BAD_ORIGIN, AUTH, "origin_not_allowed"),
        ("refund_create", FITS, {}, AUTH, "auth_required"),
        ("refund_create", FITS, {}, {}, "confirmation_required"),
        ("refund_create", {**FITS, "confirm": True}, {}, {}, "idempotency_key_required"),
        ("payout_create", FITS, {}, AUTH, "auth_required"),
        ("payout_create", FITS, {}, {}, "idempotency_key_required"),
        ("payout_create", {**FITS, **KEY}, {}, {}, "human_approval_required"),
    ],
)
def test_the_order_of_the_gates(executor, upstream, name, args, environ, changes, code):
    outcome = execute(executor(name, environ=environ, **changes), name, args)
    assert (outcome.refusal.code if outcome.refusal else None) == code
    assert upstream.plans == []
    if code:
        assert outcome.envelope["error"]["code"] == code
        assert outcome.envelope["error"]["operation"] == name


def test_a_call_that_lacks_nothing_is_sent_once_to_the_pinned_origin(executor, upstream, full):
    outcome = execute(executor(), "refund_create", full)
    assert outcome.envelope == {"data": {"id": "re_1"}}
    [(plan, origin)] = upstream.plans
    assert str(origin) == "https://api.shop.example"
    assert ("Idempotency-Key", "key-0001") in plan.headers
    assert b"confirm" not in plan.body


def test_wrong_arguments_and_what_anvil_asks_come_in_one_list(executor):
    error = execute(executor(), "refund_create", {"charge": 7, "confirm": "yes"}).envelope["error"]
    assert [need["argument"] for need in error["required"]] == [
        "body",
        "charge",
        "confirm",
        "idempotency_key",
    ]
    assert "boolean" in error["message"]


def test_a_dry_run_sends_nothing_also_beside_a_confirmation(executor, upstream, full):
    envelope = execute(executor(), "refund_create", {**full, "dry_run": True}).envelope
    assert envelope["sends"] is False
    assert envelope["request"]["url"].startswith("https://api.shop.example/api/v1/charges/ch_1")
    assert envelope["request"]["headers"]["Idempotency-Key"] == "key-0001"
    assert "with these arguments" in envelope["then"]
    assert upstream.plans == []


@pytest.mark.parametrize("value", ["true", 1, None, "yes"])
def test_a_dry_run_that_is_no_boolean_is_refused_and_sends_nothing(executor, upstream, full, value):
    error = execute(executor(), "refund_create", {**full, "dry_run": value}).envelope["error"]
    assert error["code"] == "invalid_arguments"
    assert [need["argument"] for need in error["required"]] == ["dry_run"]
    assert "boolean" in error["message"]
    assert upstream.plans == []


def test_dry_run_false_is_a_call(executor, upstream, full):
    assert "data" in execute(executor(), "refund_create", {**full, "dry_run": False}).envelope
    assert len(upstream.plans) == 1


def test_what_a_dry_run_says_that_the_call_needs(executor):
    then = execute(executor("refund_create", **AUTH), "refund_create", {**FITS, "dry_run": True}).envelope[
        "then"
    ]
    assert "key (unknown), which Anvil cannot do; or oauth (unknown)" in then
    assert "- confirm: missing." in then
    assert "- idempotency_key: missing." in then


def test_a_path_value_that_leaves_its_place_is_a_wrong_argument(executor, upstream, full):
    error = execute(executor(), "refund_create", {**full, "charge": ".."}).envelope["error"]
    assert (error["code"], error["required"][0]["argument"]) == ("invalid_arguments", "charge")
    assert upstream.plans == []


@pytest.mark.parametrize("auth", [[], [[]], [["key"], []]])
def test_no_credentials_are_asked_where_none_will_do(executor, full, auth):
    assert "data" in execute(executor("refund_create", auth=auth), "refund_create", full).envelope


def test_a_server_on_this_machine_is_called_without_credentials(executor, upstream, full):
    environ = {"ANVIL_BASE_URL": "http://127.0.0.1:81"}
    assert (
        "data" in execute(executor("refund_create", environ=environ, **AUTH), "refund_create", full).envelope
    )
    assert upstream.plans[0][0].url.startswith("http://127.0.0.1:81/api/v1/")


def test_no_argument_changes_the_origin(executor, upstream, full):
    for charge in (
        "//evil.example",
        "@evil.example",
        "\\evil.example",
        "https://evil.example",
        "evil.example:80",
    ):
        key = f"order-4711-{len(upstream.plans)}"
        execute(executor(), "refund_create", {**full, "charge": charge, "idempotency_key": key})
    assert {plan.url[:26] for plan, _ in upstream.plans} == {"https://api.shop.example/a"}
    assert len(upstream.plans) == 5


class TestPreview:
    def test_it_plans_an_operation_that_needs_a_person(self, executor, upstream):
        asked = {"operation": "payout_create", "arguments": {**FITS, **KEY}}
        envelope = execute(executor(), "preview", asked).envelope
        assert envelope["request"]["method"] == "POST"
        assert "A person must approve" in envelope["then"]
        assert upstream.plans == []

    @pytest.mark.parametrize(
        ("args", "code"),
        [
            ([], "invalid_arguments"),
            ({}, "invalid_arguments"),
            ({"operation": 5, "arguments": {}}, "invalid_arguments"),
            ({"operation": "charge_get", "arguments": []}, "invalid_arguments"),
            ({"operation": "charge_get", "arguments": {"charge": "x"}, "confirm": True}, "invalid_arguments"),
            ({"operation": "charge_get", "arguments": {}}, "invalid_arguments"),
            ({"operation": "nope", "arguments": {}}, "unknown_operation"),
            ({"operation": "charge_scrub", "arguments": {}}, "operation_not_approved"),
            ({"operation": "preview", "arguments": {}}, "unknown_operation"),
        ],
    )
    def test_what_it_refuses(self, executor, upstream, args, code):
        assert execute(executor(), "preview", args).refusal.code == code
        assert upstream.plans == []

    def test_it_sends_nothing_with_everything_given(self, executor, upstream, full):
        assert (
            execute(executor(), "preview", {"operation": "refund_create", "arguments": full}).envelope[
                "sends"
            ]
            is False
        )
        assert upstream.plans == []


class TestFailures:
    @pytest.mark.parametrize(
        ("raised", "code", "safe", "said"),
        [
            (NotSentError("no connection"), "upstream_error", True, "Nothing was sent"),
            (TimedOutError("too slow"), "upstream_timeout", False, "may have been carried out"),
            (BrokenError("cut"), "upstream_error", False, "may have been carried out"),
            (ZeroDivisionError("secret"), "upstream_error", False, "may have been carried out"),
        ],
    )
    def test_of_a_mutation_that_could_be_doubled(
        self, executor, upstream, full, raised, code, safe, said, capsys
    ):
        upstream.answer = raised
        plain = {"idempotency": {"mode": "none"}, "controls": {"confirm": "confirm"}}
        del full["idempotency_key"]
        error = execute(executor("refund_create", **plain), "refund_create", full).envelope["error"]
        assert ("Traceback" in capsys.readouterr().err) == isinstance(raised, ZeroDivisionError)
        assert (error["code"], error["safe_to_retry"]) == (code, safe)
        assert said in error["message"]
        assert "secret" not in error["message"]

    @pytest.mark.parametrize("name", ["charge_get", "refund_create"])
    def test_of_a_read_or_a_call_under_a_key(self, executor, upstream, full, name):
        upstream.answer = TimedOutError("too slow")
        args = full if name == "refund_create" else {"charge": "x"}
        error = execute(executor(), name, args).envelope["error"]
        assert (error["code"], error["retryable"], error["safe_to_retry"]) == ("upstream_timeout", True, True)

    def test_what_the_api_says_is_in_the_envelope(self, executor, upstream, full):
        upstream.answer = Answer(422, "Unprocessable", "application/json", b'{"field": "amount"}')
        error = execute(executor(), "refund_create", full).envelope["error"]
        assert error["upstream"] == {"status": 422, "body": {"field": "amount"}}

    def test_a_crash_inside_is_an_envelope(self, executor, upstream, full, capsys):
        broken = {
            "source": {
                "path": "/v1/{charge}",
                "method": "post",
                "operation_id": None,
                "pointer": "/",
                "line": 1,
            }
        }
        one = executor("refund_create", **broken)
        object.__setattr__(one, "environ", None)
        error = execute(one, "refund_create", full).envelope["error"]
        assert error["code"] == "internal_error"
        assert "Traceback" not in error["message"]
        assert "Traceback" in capsys.readouterr().err
        assert upstream.plans == []

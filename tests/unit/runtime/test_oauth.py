"""Access tokens: fetched from the pinned endpoint alone, once for all, kept in memory, renewed in time."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from anvil_runtime import client, oauth
from anvil_runtime.bundle import Bundle
from anvil_runtime.client import Answer, NotSentError, TimedOutError
from anvil_runtime.execute import Executor, execute

FITS = {"charge": "ch_1"}
ENDPOINT = {"origin": {"scheme": "https", "host": "login.shop.example", "port": 443}, "path": "/oauth2/token"}
OWN = {"origin": {"scheme": "https", "host": "api.shop.example", "port": 443}, "path": "/v1/token"}
ENVIRON = {"ID": "client one", "SECRET": "s3cret/canary"}
SOURCES = [{"part": "client_id", "env": "ID"}, {"part": "client_secret", "env": "SECRET"}]


def token_answer(token="token-1", status=200, **more):
    data = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, **more}
    return Answer(status, "", "application/json", json.dumps(data).encode())


HERE = {**ENVIRON, "ANVIL_BASE_URL": "http://127.0.0.1:81"}


class Shop:
    """The API and its token endpoint, told apart by the path; the clock is its own."""

    def __init__(self) -> None:
        self.asked: list = []
        self.called: list = []
        self.token: Answer | Exception | None = None
        self.answer = Answer(200, "OK", "application/json", b'{"id": "x"}')
        self.now = 1000.0
        self.hold = threading.Event()
        self.hold.set()

    def send(self, plan, origin):
        assert plan.base == str(origin)
        if not plan.path.endswith("token"):
            self.called.append(plan)
            return self.answer
        self.asked.append(plan)
        self.hold.wait(5)
        if isinstance(self.token, Exception):
            raise self.token
        return self.token or token_answer(f"token-{len(self.asked)}")

    def bearer(self):
        return [dict(plan.headers).get("Authorization") for plan in self.called]


@pytest.fixture
def shop(monkeypatch) -> Shop:
    made = Shop()
    monkeypatch.setattr(oauth.time, "monotonic", lambda: made.now)
    return made


@pytest.fixture
def caller(executor, shop):
    """A function: an executor whose calls need a token."""

    def make(endpoint=ENDPOINT, environ=ENVIRON, scopes=None, **service):
        scheme = {"id": "login", "kind": "oauth2", "token": endpoint, "sources": SOURCES}
        one = executor(
            "charge_get",
            environ=environ,
            auth=[["login"]],
            scopes=scopes or {},
            service={"auth": [scheme], **service},
        )
        return type(one)(one.bundle, environ=environ, send=shop.send)

    return make


def test_one_token_for_many_calls(caller, shop):
    one = caller(scopes={"login": ["read", "write"], "other": ["no"]})
    for _ in range(3):
        assert "data" in execute(one, "charge_get", FITS).envelope
    assert shop.bearer() == ["Bearer token-1"] * 3
    [asked] = shop.asked
    assert (asked.method, asked.url) == ("POST", "https://login.shop.example/oauth2/token")
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["read write"]}
    word, _, pair = dict(asked.headers)["Authorization"].partition(" ")
    assert (word, b64decode(pair)) == ("Basic", b"client+one:s3cret%2Fcanary")


def test_the_client_in_the_body(caller, shop):
    execute(caller({**ENDPOINT, "client": "post"}), "charge_get", FITS)
    [asked] = shop.asked
    form = {
        "grant_type": ["client_credentials"],
        "client_id": ["client one"],
        "client_secret": ["s3cret/canary"],
    }
    assert parse_qs(asked.body.decode()) == form
    assert "Authorization" not in dict(asked.headers)


@pytest.mark.parametrize(
    ("life", "good_for"),
    [
        (3600, 3540),
        ("3600", 3540),
        (60, 30),
        (None, 240),
        (-5, 240),
        ("soon", 240),
        (True, 240),
        (1e9, 86340),
    ],
)
def test_it_is_renewed_before_it_ends(caller, shop, life, good_for):
    shop.token = token_answer(expires_in=life)
    one = caller()
    for later in (0, good_for - 1):
        shop.now = 1000.0 + later
        execute(one, "charge_get", FITS)
    assert len(shop.asked) == 1
    shop.now = 1000.0 + good_for
    execute(one, "charge_get", FITS)
    assert len(shop.asked) == 2


def test_one_fetch_for_calls_at_the_same_time(caller, shop):
    one = caller()
    shop.hold.clear()
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(execute, one, "charge_get", FITS) for _ in range(8)]
        shop.hold.set()
        assert all("data" in call.result().envelope for call in calls)
    assert len(shop.asked) == 1
    assert shop.bearer() == ["Bearer token-1"] * 8


def test_who_waited_for_a_failure_shares_it(caller, shop):
    """As if another call were asking: its lock is held, and it fails while three others wait."""
    one = caller()
    shop.token = NotSentError("no connection")
    execute(one, "charge_get", FITS)
    [kept] = one.tokens._kept.values()
    with ThreadPoolExecutor(3) as pool:
        with kept.lock:
            calls = [pool.submit(execute, one, "charge_get", FITS) for _ in range(3)]
            time.sleep(0.3)
            kept.failed_at = shop.now + 1
        outcomes = [call.result() for call in calls]
    assert {outcome.refusal.code for outcome in outcomes} == {"upstream_error"}
    assert len(shop.asked) == 1
    shop.now, shop.token = shop.now + 2, None
    assert "data" in execute(one, "charge_get", FITS).envelope
    assert len(shop.asked) == 2


def test_a_token_that_the_api_takes_no_longer_is_fetched_anew_by_the_next_call(caller, shop):
    one = caller()
    shop.answer = Answer(401, "Unauthorized", "application/json", b"{}")
    assert execute(one, "charge_get", FITS).refusal.code == "upstream_error"
    shop.answer = Answer(200, "OK", "application/json", b'{"id": "x"}')
    assert "data" in execute(one, "charge_get", FITS).envelope
    assert shop.bearer() == ["Bearer token-1", "Bearer token-2"]


def test_another_secret_or_other_scopes_are_another_token(caller, shop):
    one = caller()
    execute(one, "charge_get", FITS)
    other = type(one)(one.bundle, environ={**ENVIRON, "SECRET": "another"}, send=shop.send, tokens=one.tokens)
    execute(other, "charge_get", FITS)
    wider = caller(scopes={"login": ["all"]})
    execute(type(one)(wider.bundle, environ=ENVIRON, send=shop.send, tokens=one.tokens), "charge_get", FITS)
    assert shop.bearer() == ["Bearer token-1", "Bearer token-2", "Bearer token-3"]


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (token_answer(status=401, error="invalid_client"), "auth_required", "(invalid_client). Tell"),
        (token_answer(status=403), "auth_required", "look at ID and SECRET"),
        (token_answer(status=400, error="s3cret/canary <b>"), "auth_required", "answered 400. Tell"),
        (Answer(302, "", "", b"", False, "https://evil.example/"), "auth_required", "never followed"),
        (token_answer(status=500), "upstream_error", "answered 500"),
        (Answer(200, "", "text/html", b"<html>"), "upstream_error", "without a bearer token"),
        (Answer(200, "", "application/json", b"[]"), "upstream_error", "without a bearer token"),
        (replace(token_answer(), cut=True), "upstream_error", "without a bearer token"),
        (token_answer("a" * 70_000), "upstream_error", "without a bearer token"),
        (token_answer("two words"), "upstream_error", "without a bearer token"),
        (token_answer("abc\r\nX-Evil: 1"), "upstream_error", "without a bearer token"),
        (token_answer(token_type="mac"), "upstream_error", "without a bearer token"),
        (NotSentError("no connection"), "upstream_error", "no connection. Nothing was sent"),
        (TimedOutError("no whole answer"), "upstream_error", "Nothing was sent"),
        (client.BrokenError("the connection failed"), "upstream_error", "Nothing was sent"),
    ],
)  # fmt: skip
def test_an_endpoint_that_gives_none(caller, shop, answer, code, word):
    shop.token = answer
    outcome = execute(caller(), "charge_get", FITS)
    assert (outcome.refusal.code, outcome.refusal.safe_to_retry) == (code, True)
    assert word in outcome.refusal.message
    assert outcome.refusal.retryable is (code == "upstream_error")
    assert shop.called == []
    assert "s3cret" not in json.dumps(outcome.envelope)


def test_missing_parts_ask_nobody(caller, shop):
    refusal = execute(caller(environ={"ID": "x"}), "charge_get", FITS).refusal
    assert refusal.code == "auth_required"
    assert "SECRET (login)" in refusal.message
    assert shop.asked == []


def test_the_token_is_a_secret_too(caller, shop):
    shop.answer = Answer(
        200, "OK", "application/json", b'{"id": "token-1 of Y2xpZW50K29uZTpzM2NyZXQlMkZjYW5hcnk="}'
    )
    outcome = execute(caller(), "charge_get", FITS)
    assert outcome.envelope == {"data": {"id": "[redacted] of [redacted]"}}


class TestThisMachine:
    def test_nobody_is_asked_for_a_token(self, caller, shop):
        assert "data" in execute(caller(environ=HERE), "charge_get", FITS).envelope
        assert (shop.asked, shop.bearer()) == ([], [None])

    @pytest.mark.parametrize(
        ("endpoint", "url"),
        [(OWN, "http://127.0.0.1:81/v1/token"), (ENDPOINT, "https://login.shop.example/oauth2/token")],
    )
    def test_the_apis_own_endpoint_moves_with_it(self, caller, shop, endpoint, url):
        execute(caller(endpoint, environ=HERE, loopback_credentials=True), "charge_get", FITS)
        assert [plan.url for plan in shop.asked] == [url]


def test_over_http(contract, httpserver):
    """The real client against a real endpoint: no redirect, one token."""
    httpserver.expect_request("/v1/token", method="POST").respond_with_json(
        {"access_token": "token-9", "token_type": "bearer", "expires_in": 60}
    )
    httpserver.expect_request(
        "/api/v1/charges/ch_1", headers={"Authorization": "Bearer token-9"}
    ).respond_with_json({"id": "ch_1"})
    scheme = {"id": "login", "kind": "oauth2", "token": OWN, "sources": SOURCES}
    service = {"auth": [scheme], "loopback_credentials": True}
    environ = {**ENVIRON, "ANVIL_BASE_URL": httpserver.url_for("")}
    one = Executor(Bundle(contract("charge_get", service=service, auth=[["login"]])), environ=environ)
    for _ in range(2):
        assert execute(one, "charge_get", FITS).envelope == {"data": {"id": "ch_1"}}
    assert [request.path for request, _ in httpserver.log] == ["/v1/token", *["/api/v1/charges/ch_1"] * 2]
    assert httpserver.log[0][0].authorization.username == "client+one"

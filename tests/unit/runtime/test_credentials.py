"""Credentials: which one, from where, in which place of the request, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64decode

import pytest
from werkzeug import Response

from anvil_runtime.client import Answer, BrokenError, OriginChangedError
from anvil_runtime.credentials import NOBODY
from anvil_runtime.execute import execute
from anvil_runtime.origin import target
from anvil_runtime.plan import make_plan
from anvil_runtime.secret_values import CredentialError

CANARY = "canary/7f+93=Ab%c"
HERE = {"ANVIL_BASE_URL": "http://127.0.0.1:81"}
FITS = {"charge": "ch_1"}


def source(part, env):
    return {"part": part, "env": env}


def api_key(location, name="X-Key"):
    return {
        "id": "key",
        "kind": "api_key",
        "location": location,
        "name": name,
        "sources": [source("value", "KEY")],
    }


BEARER = {"id": "bearer", "kind": "http", "scheme": "bearer", "sources": [source("value", "TOKEN")]}
BASIC = {
    "id": "basic",
    "kind": "http",
    "scheme": "basic",
    "sources": [source("username", "NAME"), source("password", "PASSWORD")],
}
OPENID = {"id": "oidc", "kind": "openid"}
ENVIRON = {"KEY": CANARY, "TOKEN": "tok.canary-1234=", "NAME": "someone", "PASSWORD": 'pass"\\wörd:1'}


@pytest.fixture
def caller(executor):
    """A function: an executor whose read takes one of these alternatives."""

    def make(*schemes, auth=None, environ=ENVIRON, operation=None, **service):
        auth = [[scheme["id"]] for scheme in schemes] if auth is None else auth
        service = {"auth": list(schemes), **service}
        return executor("charge_get", environ=environ, auth=auth, service=service, **(operation or {}))

    return make


def sent(upstream):
    """(headers in lower case, query) of the one request that was sent."""
    [(plan, _)] = upstream.plans
    return {name.lower(): value for name, value in plan.headers}, plan.query


@pytest.mark.parametrize(
    ("scheme", "header", "value"),
    [
        (api_key("header"), "x-key", CANARY),
        (api_key("header", "Authorization"), "authorization", CANARY),
        (BEARER, "authorization", "Bearer tok.canary-1234="),
    ],
)
def test_in_a_header(caller, upstream, scheme, header, value):
    assert "data" in execute(caller(scheme), "charge_get", FITS).envelope
    headers, query = sent(upstream)
    assert (headers[header], query) == (value, "")


def test_in_the_query(caller, upstream):
    execute(caller(api_key("query", "api key")), "charge_get", FITS)
    assert sent(upstream)[1] == "api%20key=canary%2F7f%2B93%3DAb%25c"


def test_in_cookies_that_are_one_header(caller, upstream):
    other = {**api_key("cookie", "more"), "id": "other"}
    execute(caller(api_key("cookie", "sid"), other, auth=[["key", "other"]]), "charge_get", FITS)
    assert sent(upstream)[0]["cookie"] == f"sid={CANARY}; more={CANARY}"


SHORT = {"path": "/x", "method": "get", "operation_id": None, "pointer": "/", "line": 1}


def with_cookie(name):
    given = {"argument": name, "name": name, "location": "cookie", "required": False, "json_schema": {}}
    made = {"parameters": [{**given, "style": "form", "explode": True}]}
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    return {"input": {**made, "json_schema": schema}, "source": SHORT}


def test_beside_the_cookies_of_a_call(caller, upstream):
    one = caller(api_key("cookie", "sid"), operation=with_cookie("theme"))
    execute(one, "charge_get", {"theme": "dark"})
    assert sent(upstream)[0]["cookie"] == f"theme=dark; sid={CANARY}"


def test_never_beside_a_cookie_of_its_own_name(caller, upstream):
    one = caller(api_key("cookie", "theme"), operation=with_cookie("theme"))
    answer = execute(one, "charge_get", {"theme": "dark"})
    assert "the cookie theme" in answer.envelope["error"]["message"]
    assert upstream.plans == []


def test_basic(caller, upstream):
    execute(caller(BASIC), "charge_get", FITS)
    word, _, pair = sent(upstream)[0]["authorization"].partition(" ")
    assert (word, b64decode(pair).decode()) == ("Basic", 'someone:pass"\\wörd:1')


def test_a_key_as_a_user_without_a_password(caller, upstream):
    alone = {**BASIC, "sources": [source("username", "KEY")]}
    upstream.answer = Answer(200, "OK", "application/json", json.dumps({"id": CANARY}).encode())
    outcome = execute(caller(alone), "charge_get", FITS)
    assert b64decode(sent(upstream)[0]["authorization"][6:]).decode() == f"{CANARY}:"
    assert outcome.envelope == {"data": {"id": "[redacted]"}}


@pytest.mark.parametrize(
    ("have", "wanted"),
    [
        ({"KEY", "TOKEN"}, "x-key"),
        ({"TOKEN", "NAME", "PASSWORD"}, "authorization"),
        ({"NAME", "TOKEN"}, "authorization"),
        ({"NAME", "PASSWORD"}, None),
    ],
)
def test_the_first_alternative_that_is_whole(caller, upstream, have, wanted):
    schemes = (api_key("header"), BASIC, BEARER)
    environ = {name: value for name, value in ENVIRON.items() if name in have}
    one = caller(*schemes, auth=[["key"], ["bearer"], ["oidc"]], environ=environ)
    outcome = execute(one, "charge_get", FITS)
    if wanted is None:
        assert outcome.refusal.code == "auth_required"
        assert upstream.plans == []
    else:
        assert [name for name in sent(upstream)[0] if name in ("x-key", "authorization")] == [wanted]


def test_those_that_are_needed_together(caller, upstream):
    execute(caller(api_key("header"), BEARER, auth=[["key", "bearer"]]), "charge_get", FITS)
    headers, _ = sent(upstream)
    assert (headers["x-key"], headers["authorization"]) == (CANARY, "Bearer tok.canary-1234=")


def test_one_that_is_not_needed_is_used_where_it_is_there(caller, upstream):
    execute(caller(BEARER, auth=[[], ["bearer"]]), "charge_get", FITS)
    execute(caller(BEARER, auth=[[], ["bearer"]], environ={}), "charge_get", FITS)
    with_it, without = ({name for name, _ in plan.headers} for plan, _ in upstream.plans)
    assert with_it - without == {"Authorization"}


def test_what_is_missing_is_named(caller, upstream):
    one = caller(BASIC, BEARER, OPENID, environ={"NAME": "someone", "TOKEN": ""})
    refusal = execute(one, "charge_get", FITS).refusal
    assert refusal.code == "auth_required"
    assert "PASSWORD (basic); or TOKEN (bearer); or oidc (openid), which Anvil cannot do" in refusal.message
    assert "do not retry" in refusal.message
    assert upstream.plans == []


@pytest.mark.parametrize(
    ("scheme", "environ", "word"),
    [
        (BEARER, {"TOKEN": "Bearer abc.def"}, "the token alone"),
        (BEARER, {"TOKEN": "abcdef\r\nX-Evil: 1"}, "line break"),
        (BEARER, {"TOKEN": "abcdéf"}, "no bearer token"),
        (api_key("header"), {"KEY": " abcdef"}, "visible ASCII"),
        (api_key("header"), {"KEY": "abcdéf"}, "visible ASCII"),
        (api_key("header"), {"KEY": "abcde"}, "shorter than 6"),
        (api_key("cookie"), {"KEY": "abcdef; admin=1"}, "visible ASCII"),
        (BASIC, {"NAME": "a:b", "PASSWORD": "password"}, "colon"),
        (BASIC, {"NAME": "a", "PASSWORD": "pass\nword"}, "line break"),
        (BASIC, {"NAME": "a", "PASSWORD": "pass"}, "shorter than 6"),
    ],
)
def test_a_value_that_cannot_be_sent(caller, upstream, scheme, environ, word):
    refusal = execute(caller(scheme, environ=environ), "charge_get", FITS).refusal
    assert refusal.code == "auth_required"
    assert word in refusal.message
    assert upstream.plans == []
    assert all(value not in refusal.message for value in environ.values() if len(value) > 3)


def test_an_argument_never_stands_where_the_credential_goes(executor, upstream):
    free = {
        "argument": "more", "name": "more", "location": "query", "required": False, "style": "form",
        "explode": True, "json_schema": {"type": "object"},
    }  # fmt: skip
    shape = {"type": "object", "properties": {"more": {"type": "object"}}}
    one = executor(
        "charge_get",
        environ=ENVIRON,
        auth=[["key"]],
        service={"auth": [api_key("query", "api key")]},
        input={"parameters": [free], "json_schema": shape},
        source={"path": "/v1/charges", "method": "get", "operation_id": None, "pointer": "/", "line": 1},
    )
    assert "data" in execute(one, "charge_get", {"more": {"other": "1"}}).envelope
    refusal = execute(one, "charge_get", {"more": {"api key": "mine"}}).refusal
    assert (refusal.code, "an argument sets api key" in refusal.message) == ("auth_required", True)
    assert len(upstream.plans) == 1


class TestThisMachine:
    def test_it_gets_none(self, caller, upstream):
        one = caller(BEARER, environ=ENVIRON | HERE)
        assert "data" in execute(one, "charge_get", FITS).envelope
        assert "authorization" not in sent(upstream)[0]

    def test_it_gets_them_where_the_manifest_says_so(self, caller, upstream):
        one = caller(BEARER, environ=ENVIRON | HERE, loopback_credentials=True)
        execute(one, "charge_get", FITS)
        assert sent(upstream)[0]["authorization"] == "Bearer tok.canary-1234="

    def test_and_lacks_them_then(self, caller, upstream):
        one = caller(BEARER, environ=HERE, loopback_credentials=True)
        assert execute(one, "charge_get", FITS).refusal.code == "auth_required"
        assert upstream.plans == []


def test_a_request_that_left_the_base_path_gets_none(caller, upstream):
    one = caller(BEARER)
    operation = one.bundle.by_name["charge_get"]
    goal = target(one.bundle.air.service, {})
    plan = make_plan(operation, FITS, goal)
    moved = type(plan)(**{**plan.__dict__, "path": "/apis/v1/charges/ch_1"})
    with pytest.raises(OriginChangedError):
        one.credentials.sender(operation, goal)(moved, goal.origin)
    assert upstream.plans == []


class TestIdentity:
    def of(self, one):
        operation = one.bundle.by_name["charge_get"]
        return one.credentials.identity(operation, target(one.bundle.air.service, one.environ))

    def test_it_is_the_same_for_the_same_and_tells_nothing(self, caller):
        mine = self.of(caller(BEARER))
        assert mine == self.of(caller(BEARER))
        assert len(mine) == 32
        assert int(mine, 16)
        assert mine != self.of(caller(BEARER, environ={"TOKEN": "another"}))
        assert mine != self.of(caller({**BEARER, "id": "other"}))
        assert mine != self.of(caller(BEARER, id="elsewhere"))

    def test_a_new_password_is_the_same_person(self, caller):
        assert self.of(caller(BASIC)) == self.of(caller(BASIC, environ={**ENVIRON, "PASSWORD": "changed"}))
        assert self.of(caller(BASIC)) != self.of(caller(BASIC, environ={**ENVIRON, "NAME": "another"}))

    def test_nobody(self, caller):
        assert self.of(caller(BEARER, auth=[])) == NOBODY
        assert self.of(caller(BEARER, environ=ENVIRON | HERE)) == NOBODY

    def test_there_is_none_where_the_credential_is_missing(self, caller):
        with pytest.raises(CredentialError, match="TOKEN"):
            self.of(caller(BEARER, environ={}))


class TestNowhereElse:
    """The canary is looked for in all that a call says."""

    FORMS = (CANARY, "canary%2F7f", "canary\\/7f", "Y2FuYXJ5")

    def check(self, *texts):
        for text in texts:
            assert not [form for form in self.FORMS if form in text]

    def test_a_plan_and_a_preview_hold_none(self, caller):
        one = caller(api_key("query"))
        execute(one, "charge_get", FITS)
        asked = {"operation": "charge_get", "arguments": FITS}
        envelope = execute(one, "preview", asked).envelope
        assert "key" not in envelope["request"]["url"].lower()
        self.check(json.dumps(envelope))

    @pytest.mark.parametrize("status", [200, 201, 302, 401, 500])
    @pytest.mark.parametrize("form", ["plain", "json", "text", "header"])
    def test_an_api_that_gives_it_back(self, caller, upstream, status, form):
        media, body = "application/json", json.dumps({"id": CANARY, CANARY: [f"Bearer {CANARY}"]}).encode()
        if form == "text":
            media, body = "text/plain", f"you sent {CANARY}".encode()
        if form == "json":
            body = body.replace(b"/", b"\\/")
        reason, where = ("OK", None) if form != "header" else (CANARY, f"https://x.example/?k={CANARY}")
        upstream.answer = Answer(status, reason, media, body, False, where)
        outcome = execute(caller(api_key("header")), "charge_get", FITS)
        assert "[redacted]" in json.dumps(outcome.envelope)
        self.check(json.dumps(outcome.envelope), repr(outcome))

    @pytest.mark.parametrize("error", [BrokenError(f"failed at {CANARY}"), ValueError(f"odd {CANARY}")])
    def test_a_failure_that_names_it(self, caller, upstream, capsys, error):
        upstream.answer = error
        outcome = execute(caller(api_key("header")), "charge_get", FITS)
        assert outcome.refusal.code == "upstream_error"
        captured = capsys.readouterr()
        self.check(json.dumps(outcome.envelope), captured.out, captured.err)
        assert isinstance(error, BrokenError) or "ValueError: odd [redacted]" in captured.err

    def test_the_whole_value_of_basic(self, caller):
        def echo(plan, _origin):
            told = json.dumps({"id": dict(plan.headers)["Authorization"]}).encode()
            return Answer(200, "OK", "application/json", told)

        one = caller(BASIC)
        outcome = execute(type(one)(one.bundle, environ=ENVIRON, send=echo), "charge_get", FITS)
        assert outcome.envelope == {"data": {"id": "Basic [redacted]"}}

    def test_an_answer_is_checked_as_it_is_told(self, executor, upstream):
        """A client that checks it against the schema too would take the call for failed."""
        shape = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^canary"}}}
        one = executor(
            "charge_get",
            environ=ENVIRON,
            auth=[["key"]],
            service={"auth": [api_key("header")]},
            output={"media_type": "application/json", "json_schema": shape},
        )
        upstream.answer = Answer(200, "OK", "application/json", json.dumps({"id": CANARY}).encode())
        envelope = execute(one, "charge_get", FITS).envelope
        assert (envelope["raw"], len(envelope["violations"])) == ({"id": "[redacted]"}, 1)

    def test_nothing_shows_it_by_its_repr(self, caller):
        one = caller(api_key("header"))
        execute(one, "charge_get", FITS)
        self.check(repr(one.credentials), repr(one.secrets), repr(one.tokens))


SERVE = """
import logging, sys
from pathlib import Path
from anvil_runtime import client, server
exchange = client.exchange
async def telling(plan, *rest):
    logging.getLogger("library").debug("sends %s %r", plan.url, plan.headers)
    return await exchange(plan, *rest)
client.exchange = telling
logging.lastResort.setLevel(logging.DEBUG)
logging.getLogger().setLevel(logging.DEBUG)
sys.exit(server.main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


START = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def calling(name, args):
    return {"method": "tools/call", "params": {"name": name, "arguments": args}}


def test_a_server_process_that_is_told_to_say_all_says_none_of_it(bundle_folder, httpserver, tmp_path, full):
    """The API gives back every header that it got, in its answer and in its error; the server logs all."""

    def echo(request):
        told = json.dumps(dict(request.headers))
        wrong = "fail" in request.path
        headers = {"Location": "/?" + request.query_string.decode(), "X-Seen": request.headers["X-Key"]}
        return Response(told, 500 if wrong else 200, headers, mimetype="application/json")

    httpserver.expect_request("/api/v1/charges/echo").respond_with_handler(echo)
    httpserver.expect_request("/api/v1/charges/fail").respond_with_handler(echo)
    file = bundle_folder / "air.json"
    air = json.loads(file.read_text(encoding="utf-8"))
    air["service"] |= {
        "auth": [api_key("header"), {**api_key("query", "k"), "id": "q"}],
        "loopback_credentials": True,
    }
    for operation in air["operations"]:
        operation["auth"] = [["key", "q"]]
    file.write_text(json.dumps(air), encoding="utf-8")
    asked = [
        {"method": "initialize", "params": START},
        {"method": "notifications/initialized"},
        *(calling("charge_get", {"charge": one}) for one in ("echo", "fail", "..", "")),
        calling("refund_create", {**full, "dry_run": True}),
    ]
    home = tmp_path / "home"
    home.mkdir()
    environ = {
        "KEY": CANARY,
        "ANVIL_BASE_URL": httpserver.url_for(""),
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TMPDIR": str(home),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(bundle_folder), str(tmp_path / "state")],
        env=environ, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    answers = []
    for number, message in enumerate(asked):
        told = {} if "notifications" in message["method"] else {"id": number}
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **told, **message}).encode() + b"\n")
        process.stdin.flush()
        if told:
            answers.append(process.stdout.readline())
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert len(httpserver.log) == 2
    assert all(request.headers["X-Key"] == CANARY for request, _ in httpserver.log)
    trail = tmp_path / "state" / "trail.jsonl"
    assert len(trail.read_bytes().splitlines()) == 5
    written = b"".join(path.read_bytes() for path in (trail, *home.rglob("*")) if path.is_file())
    everything = b"".join([*answers, out, err, written])
    assert b"sends http" in err
    assert everything.count(b"[redacted]") >= 4
    TestNowhereElse().check(everything.decode())

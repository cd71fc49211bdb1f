"""The server that a bundle carries, as a process, in every version of the protocol that it speaks.

By hand, line by line, and through the official client pinned to the version. The API is a local one that
remembers what reached it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import jsonschema_rs
import mcp.client.session
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.carried import lay_out_cache
from support.lines import HANDSHAKES, STATELESS, VERSIONS, Lines, code_of

from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.conformance.bundle_rings import Api
from anvil_generator.files import write_tree
from anvil_generator.project import open_project

pytestmark = [pytest.mark.timeout(180)]
ROOT = Path(__file__).parents[2]
READ, REFUND, FORM_FIELD = ("customers_get", {"customer_id": "cus_1"}), "refunds_create", "answer"
INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION = -32602, -32601, -32022
WITH_FORMS = ("2025-06-18", "2025-11-25", "2026-07-28")
ANSWERS = [
    ("accept", {FORM_FIELD: "yes"}, None),
    ("accept", {FORM_FIELD: "no"}, "approval_declined"),
    ("decline", None, "confirmation_required"),
    ("cancel", None, "confirmation_required"),
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    compiled, made = compile_project(open_project(ROOT / "examples/payments")), tmp_path_factory.mktemp("b")
    write_tree(made / "payments", {file.path: file.data for file in plan(compiled)})
    return made / "payments"


@pytest.fixture(scope="module")
def cache(bundle, tmp_path_factory) -> Path:
    return lay_out_cache(bundle, tmp_path_factory.mktemp("cache"))


class HoldingApi(Api):
    """``held``: set when a request for the customer ``cus_held`` has come; it waits for ``go_on``."""

    def __init__(self) -> None:
        super().__init__()
        self.held, self.go_on = threading.Event(), threading.Event()
        answer, api = self.server.RequestHandlerClass, self

        class Handler(answer):  # type: ignore[misc, valid-type]
            def do_GET(self) -> None:  # noqa: N802  # the standard library's name
                if self.path.endswith("/cus_held"):
                    api.held.set()
                    api.go_on.wait(60)
                super().do_GET()

        assert issubclass(Handler, BaseHTTPRequestHandler)
        self.server.RequestHandlerClass = Handler


@pytest.fixture
def api():
    with HoldingApi() as one:
        yield one
        one.go_on.set()


@pytest.fixture
def command(bundle, cache, tmp_path) -> list[str]:
    kept = ["--cache", str(cache), "--state", str(tmp_path / "state")]
    return [sys.executable, "-I", str(bundle / "mcp/server.py"), *kept, "serve"]


@pytest.fixture
def work(tmp_path) -> Path:
    """The folder that a client starts the server in; its state must lie elsewhere."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def speak(command, api, work):
    """A function: a session by hand in a version, its forms answered so."""

    def open_session(version, action=None, content=None) -> Lines:
        answer = {"action": action} if content is None else {"action": action, "content": content}
        environ = {"PATH": os.environ["PATH"], "ANVIL_BASE_URL": api.url}
        return Lines(command, environ, work, version, (lambda _: answer) if action else None)

    return open_session


def refund(key: str, **more: object) -> dict:
    return {"body": {"payment_id": "pay_1", "amount": 5}, "idempotency_key": f"key-{key}-0001", **more}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_is_spoken(speak, version):
    with speak(version) as session:
        said = session.started
    assert said["capabilities"].keys() == {"tools"}
    if version in STATELESS:
        assert version in said["supportedVersions"]
        assert said["resultType"] == "complete"
    else:
        assert said["protocolVersion"] == version
        assert said["serverInfo"]["name"] == "payments"


def test_an_unknown_version_gets_one_that_is_spoken(speak):
    with speak("1999-01-01") as session:
        assert session.started["protocolVersion"] == HANDSHAKES[-1]


def test_an_unknown_stateless_version_is_refused_with_those_spoken(speak):
    with speak(*STATELESS) as session:
        session.version = "2099-01-01"
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        session.tell({"jsonrpc": "2.0", "id": "v", "method": "tools/list", "params": {"_meta": meta | {
            "io.modelcontextprotocol/clientCapabilities": {}}}})  # fmt: skip
        error = session.answer_to("v")["error"]
    assert error["code"] == UNSUPPORTED_VERSION
    assert STATELESS[0] in error["data"]["supported"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_list_is_sorted_the_same_twice_and_of_valid_schemas(speak, version):
    with speak(version) as session:
        first, second = (session.ask("tools/list")["result"] for _ in range(2))
    assert first["tools"] == second["tools"]
    names = [tool["name"] for tool in first["tools"]]
    assert names == sorted(names)
    assert {"customers_get", REFUND, "preview"} <= set(names)
    assert "customers_delete" not in names
    for tool in first["tools"]:
        for schema in (tool["inputSchema"], *([tool["outputSchema"]] if "outputSchema" in tool else [])):
            jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
            assert schema["type"] == "object"
    if version in STATELESS:
        assert first["ttlMs"] > 0
        assert first["cacheScope"] == "private"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_is_sent_and_a_refusal_is_its_envelope_as_text(speak, api, version):
    with speak(version) as session:
        answered = session.call(*READ)
        assert api.reached == ["GET /v1/customers/cus_1"]
        refused = session.call(REFUND, refund("refused"))
    assert code_of(answered) is None
    assert json.loads(answered["content"][0]["text"]) == answered["structuredContent"]
    assert code_of(refused) == "confirmation_required"
    assert len(refused["content"]) == 1
    assert "structuredContent" not in refused
    assert len(api.reached) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_no_tool_is_refused_by_name(speak, api, version):
    """Not as a JSON-RPC error: the model that made the name up is to read what it can call instead."""
    with speak(version) as session:
        assert code_of(session.call("no_such_tool", {})) == "unknown_operation"
        assert code_of(session.call("customers_delete", {"customer_id": "cus_1"})) == "operation_not_approved"
    assert api.reached == []


@pytest.mark.parametrize("version", VERSIONS)
def test_invalid_arguments_are_a_refusal_and_invalid_params_an_error(speak, api, version):
    with speak(version) as session:
        assert code_of(session.call("customers_get", {"customer_id": "X"})) == "invalid_arguments"
        for params in ({"arguments": {}}, {"name": 5, "arguments": {}}, {"name": "preview", "arguments": []}):
            assert session.ask("tools/call", params)["error"]["code"] == INVALID_PARAMS, params
        assert session.ask("no/such/method")["error"]["code"] == METHOD_NOT_FOUND
        assert code_of(session.call(*READ)) is None, "the server lives on"
    assert len(api.reached) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_ping_where_it_exists(speak, version):
    with speak(version) as session:
        said = session.ask("ping")
    if version in STATELESS:
        assert said["error"]["code"] == METHOD_NOT_FOUND
    else:
        assert said["result"] == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancelled_call_holds_nothing_up(speak, api, version):
    with speak(version) as session:
        number = session.send("tools/call", {"name": READ[0], "arguments": {"customer_id": "cus_held"}})
        assert api.held.wait(60)
        params = {"requestId": number, "reason": "test"}
        session.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert code_of(session.call(*READ)) is None
        results = [one for one in session.received if one.get("id") == number and "result" in one]
    assert results == []
    assert api.reached == ["GET /v1/customers/cus_1"], "the held request is not sent again"


@pytest.mark.parametrize(("action", "content", "code"), ANSWERS)
@pytest.mark.parametrize("version", WITH_FORMS)
def test_a_person_is_asked_for_a_missing_confirmation(speak, api, version, action, content, code):
    with speak(version, action, content) as session:
        assert code_of(session.call(REFUND, refund("asked"))) == code
        (form,) = session.asked
    assert len(api.reached) == (code is None)
    assert form["requestedSchema"]["required"] == [FORM_FIELD]
    assert form["requestedSchema"]["properties"][FORM_FIELD]["enum"] == ["no", "yes"]


@pytest.mark.parametrize("version", [one for one in VERSIONS if one not in WITH_FORMS])
def test_forms_are_not_used_before_the_protocol_has_them(speak, api, version):
    with speak(version, "accept", {FORM_FIELD: "yes"}) as session:
        assert code_of(session.call(REFUND, refund("early"))) == "confirmation_required"
        assert session.asked == []
    assert api.reached == []


@pytest.mark.parametrize("version", WITH_FORMS)
def test_a_call_cancelled_at_its_form_is_not_sent(speak, api, version):
    params = {"name": REFUND, "arguments": refund("left")}
    with speak(version, "accept", {FORM_FIELD: "yes"}) as session:
        number = session.send("tools/call", params)
        asked = session.read()
        cancelled = {"requestId": number}
        session.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        if version in HANDSHAKES:
            assert asked["method"] == "elicitation/create"
            late = {"action": "accept", "content": {FORM_FIELD: "yes"}}
            session.tell({"jsonrpc": "2.0", "id": asked["id"], "result": late})
        else:
            assert asked["result"]["resultType"] == "input_required"
        assert session.ask("tools/list")["result"]["tools"]
    assert api.reached == []


@pytest.mark.parametrize("changed", ["state", "arguments", "again"])
def test_a_yes_is_good_for_its_call_once(speak, api, changed):
    """Stateless: the state is the server's, for the very call; anything else is rejected, as it must be."""
    version = STATELESS[0]
    params = {"name": REFUND, "arguments": refund("bound")}
    with speak(version, "accept", {FORM_FIELD: "yes"}) as session:
        asked = session.ask("tools/call", params)["result"]
        state = asked["requestState"]
        answers = {name: {"action": "accept", "content": {FORM_FIELD: "yes"}}
                   for name in asked["inputRequests"]}  # fmt: skip
        said = {**params, "inputResponses": answers, "requestState": state}
        if changed == "state":
            said["requestState"] = state[:-1] + ("A" if state[-1] != "A" else "B")
        if changed == "arguments":
            said["arguments"] = {**refund("bound"), "body": {"payment_id": "pay_1", "amount": 500}}
        if changed == "again":
            assert code_of(session.ask("tools/call", said)["result"]) is None
            said["arguments"] = refund("bound")
        error = session.ask("tools/call", said)["error"]
    assert error["code"] == INVALID_PARAMS
    assert "without requestState" in error["message"]
    assert len(api.reached) == (changed == "again")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_official_client_pinned_to_the_version(command, api, work, monkeypatch, version):
    monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", version)
    shown = []

    async def answer(_context, params):
        shown.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={FORM_FIELD: "yes"})

    async def talk():
        environ = {"PATH": os.environ["PATH"], "ANVIL_BASE_URL": api.url}
        started = StdioServerParameters(command=command[0], args=command[1:], env=environ, cwd=work)
        mode = version if version in STATELESS else "legacy"
        async with Client(stdio_client(started), mode=mode, elicitation_callback=answer) as client:
            assert client.session.protocol_version == version
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == sorted(names)
            assert not (await client.call_tool(*READ)).is_error
            assert (await client.call_tool("no_such_tool", {})).is_error
            sent = await client.call_tool(REFUND, refund("official"))
            with pytest.raises(MCPError):
                await client.list_prompts()
            return sent

    sent = asyncio.run(talk())
    assert bool(sent.is_error) is (version not in WITH_FORMS)
    assert len(shown) == (version in WITH_FORMS)
    assert len(api.reached) == 1 + (version in WITH_FORMS)

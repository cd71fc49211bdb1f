"""The server through the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json

import jsonschema_rs
import pytest
from mcp import Client

from anvil_runtime import server
from anvil_runtime.client import Answer
from anvil_runtime.server import make_server

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


def ask(executor, era, question):
    """What a client of that era gets: ``question`` is a coroutine function of the client."""

    async def run():
        async with Client(make_server(executor), mode=era) as client:
            return await question(client)

    return asyncio.run(run())


def tools_of(executor, era):
    return ask(executor, era, lambda client: client.list_tools()).tools


def call(executor, era, name, args):
    return ask(executor, era, lambda client: client.call_tool(name, args))


@pytest.mark.invariant("I5")
@ERAS
def test_served_is_approved_and_preview_sorted_by_name(executor, era):
    names = [tool.name for tool in tools_of(executor(), era)]
    assert names == ["charge_get", "payout_create", "preview", "refund_create"]


@ERAS
def test_without_a_preview_none_is_served(executor, era):
    one = executor()
    object.__setattr__(one.bundle, "air", one.bundle.air.model_copy(update={"preview": None}))
    assert "preview" not in [tool.name for tool in tools_of(one, era)]


@ERAS
def test_what_a_tool_says_of_itself(executor, era):
    tool = next(
        tool
        for tool in tools_of(executor("refund_create", auth=[["key"]]), era)
        if tool.name == "refund_create"
    )
    hints = tool.annotations.model_dump(by_alias=True)
    assert hints == {
        "title": "Refund a charge",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert {name: value for name, value in tool.meta.items() if name.startswith("anvil/")} == {
        "anvil/effect": "mutation",
        "anvil/risk": "financial",
        "anvil/retries": "never",
        "anvil/auth": [["key"]],
    }
    assert tool.input_schema["type"] == "object"
    assert set(tool.input_schema["properties"]) == {
        "charge",
        "expand",
        "body",
        "confirm",
        "idempotency_key",
        "dry_run",
    }
    assert set(tool.output_schema["properties"]) == {
        *("data", "raw", "violations", "file", "replayed"),
        *("request", "sends", "then"),
    }


@ERAS
def test_an_answer_is_structured_and_text(executor, upstream, full, era):
    result = call(executor(), era, "refund_create", full)
    assert not result.is_error
    assert result.structured_content == {"data": {"id": "re_1"}} == json.loads(result.content[0].text)


@ERAS
@pytest.mark.parametrize("body", [b'{"id": 5}', b"<html>", b""])
def test_a_wrong_answer_is_no_server_error(executor, upstream, full, era, body):
    upstream.answer = Answer(200, "OK", "application/json", body)
    one = executor()
    result = call(one, era, "refund_create", full)
    assert not result.is_error
    assert result.structured_content["violations"]
    tool = next(tool for tool in tools_of(one, era) if tool.name == "refund_create")
    assert jsonschema_rs.is_valid(tool.output_schema, result.structured_content)


@ERAS
@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("nope", {}, "unknown_operation"),
        ("charge_scrub", {"charge": "x"}, "operation_not_approved"),
        ("refund_create", None, "invalid_arguments"),
        ("refund_create", {"charge": "x", "body": {"amount": 1}, "confirm": "true"}, "confirmation_required"),
        (
            "payout_create",
            {"charge": "x", "body": {"amount": 1}, "idempotency_key": "12345678"},
            "human_approval_required",
        ),
    ],
)
def test_a_refusal_is_an_error_result_whose_text_is_the_envelope(executor, upstream, era, name, args, code):
    result = call(executor(), era, name, args)
    assert result.is_error
    assert result.structured_content is None
    error = json.loads(result.content[0].text)["error"]
    assert (error["code"], error["operation"]) == (code, name)
    assert upstream.plans == []


@ERAS
def test_previews_and_dry_runs_fit_their_output_schema(executor, upstream, full, era):
    one = executor()
    tools = {tool.name: tool for tool in tools_of(one, era)}
    preview = call(one, era, "preview", {"operation": "refund_create", "arguments": full})
    dry = call(one, era, "refund_create", {**full, "dry_run": True})
    for name, result in (("preview", preview), ("refund_create", dry)):
        assert result.structured_content["sends"] is False
        assert jsonschema_rs.is_valid(tools[name].output_schema, result.structured_content)
    assert upstream.plans == []


@ERAS
def test_one_call_does_not_wait_for_another(executor, upstream, full, era):
    import threading

    both = threading.Barrier(2, timeout=5)
    answer = upstream.answer

    def send(plan, origin):
        both.wait()
        return answer

    one = executor()
    object.__setattr__(one, "send", send)

    async def two(client):
        keyed = [{**full, "idempotency_key": f"order-4711-{number}"} for number in range(2)]
        return await asyncio.gather(*(client.call_tool("refund_create", args) for args in keyed))

    assert [result.is_error for result in ask(one, era, two)] == [False, False]


def test_a_bundle_that_cannot_be_served(tmp_path, capsys):
    assert server.main(tmp_path) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "air.json: No such file" in said.err

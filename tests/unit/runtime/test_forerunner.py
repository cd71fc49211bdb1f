"""What Anvil's forerunner got wrong, over MCP and by the command line: refused, and nothing sent."""

from __future__ import annotations

import asyncio
import json

import pytest
from mcp import Client

from anvil_runtime import call, server
from anvil_runtime.call import Wish, call_as_wished

BODY = {"amount": 5}
GOOD = {"charge": "ch_1", "body": BODY, "confirm": True, "idempotency_key": "key-0001"}
CASES = {
    "malformed key": ("refund_create", {**GOOD, "idempotency_key": "short"}, "idempotency_key_malformed"),
    "key that is no text": (
        "refund_create",
        {**GOOD, "idempotency_key": 12345678},
        "idempotency_key_malformed",
    ),
    "missing input": ("refund_create", {"confirm": True, "idempotency_key": "key-0001"}, "invalid_arguments"),
    "name with a double underscore": ("refund__create", GOOD, "unknown_operation"),
    "name with the harness's prefix": ("mcp__shop__refund_create", GOOD, "unknown_operation"),
    "person-only operation": (
        "payout_create",
        {key: GOOD[key] for key in ("charge", "body", "idempotency_key")},
        "human_approval_required",
    ),
    "person-only operation, confirmed by the caller": ("payout_create", GOOD, "invalid_arguments"),
    "dry run spelled wrongly": ("refund_create", {**GOOD, "dry_rum": True}, "invalid_arguments"),
    "dry run with a dash": ("refund_create", {**GOOD, "dry-run": True}, "invalid_arguments"),
    "dry run that is no boolean": ("refund_create", {**GOOD, "dry_run": "true"}, "invalid_arguments"),
}


def by_mcp(executor, tool, args):
    async def ask():
        async with Client(server.make_server(executor)) as client:
            answer = await client.call_tool(tool, args)
            return answer.is_error, json.loads(answer.content[0].text)

    return asyncio.run(ask())


@pytest.mark.parametrize("case", CASES)
def test_over_mcp(executor, upstream, case):
    tool, args, code = CASES[case]
    is_error, said = by_mcp(executor(), tool, args)
    assert (is_error, said["error"]["code"]) == (True, code)
    assert upstream.plans == []


@pytest.mark.parametrize("case", CASES)
def test_by_the_command_line(bundle_folder, monkeypatch, case):
    sent = []
    usual = call.executor_of
    monkeypatch.setattr(
        call, "executor_of", lambda *a: call.replace(usual(*a), send=lambda *to: sent.append(to), environ={})
    )
    tool, args, code = CASES[case]
    said, ended = call_as_wished(bundle_folder, Wish(tool, (), json.dumps(args)))
    assert (said["error"]["code"], ended) == (code, 3)
    pairs = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in args.items()
    ]
    if case not in ("key that is no text", "dry run that is no boolean"):  # typed by the schema there
        said, ended = call_as_wished(bundle_folder, Wish(tool, pairs))
        assert (said["error"]["code"], ended) == (code, 3)
    assert sent == []


def test_the_same_call_without_the_fault_is_sent(executor, upstream):
    is_error, said = by_mcp(executor(), "refund_create", GOOD)
    assert (is_error, said) == (False, {"data": {"id": "re_1"}})
    assert len(upstream.plans) == 1

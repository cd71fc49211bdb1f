from __future__ import annotations

import json
import subprocess
import sys

from anvil_lab.inside.http_api import Api
from anvil_lab.inside.place import tool_server
from anvil_lab.inside.records import ServedTool

SCHEMA = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
TOOLS = [
    ServedTool("echo", "PUT", "/seen"),
    ServedTool("other", schema=SCHEMA, annotations={"openWorldHint": True}),
]


def talk(api, *messages):
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    command = tool_server(api.url, TOOLS)
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=lines, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_lists_its_tools_and_a_call_reaches_the_api():
    call = {"name": "echo", "arguments": {"confirm": "true"}}
    with Api() as api:
        hello, listed, called, ping, unknown = talk(
            api,
            {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
            {"id": 3, "method": "tools/call", "params": call},
            {"id": 4, "method": "ping"},
            {"id": 5, "method": "tools/call", "params": {"name": "nobody"}},
        )
    assert hello["result"]["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "other"]
    assert listed["result"]["tools"][1]["inputSchema"] == SCHEMA
    usual = {"readOnlyHint": False, "destructiveHint": False}
    assert listed["result"]["tools"][0]["annotations"] == usual
    assert listed["result"]["tools"][1]["annotations"] == {**usual, "openWorldHint": True}
    assert called["result"]["content"][0]["text"] == 'echo ran with {"confirm": "true"}'
    assert ping["result"] == {}
    assert unknown["error"]["code"] == -32601
    assert [(seen.method, seen.path, seen.body) for seen in api.requests] == [
        ("PUT", "/seen", {"confirm": "true"})
    ]


def test_it_is_started_isolated_by_this_interpreter():
    assert tool_server("http://x", TOOLS)[:2] == [sys.executable, "-I"]

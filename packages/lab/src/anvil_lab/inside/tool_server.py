"""An MCP server over stdio that serves a given list of tools; each call sends one request to the local API.

    python3 tool_server.py API_URL '[{"name": "echo", "method": "POST", "path": "/foreign/echo"}]'

It stands for a server that has nothing to do with a bundle, and for one that has taken a bundle's place. It
is started by its path and imports nothing of this package.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

Json = dict[str, Any]


def listed(tool: Json) -> Json:
    return {
        "name": tool["name"],
        "description": f"The tool {tool['name']}.",
        "inputSchema": tool.get("schema") or {"type": "object", "additionalProperties": True},
        "annotations": {
            "readOnlyHint": tool.get("read_only", False),
            "destructiveHint": False,
            **tool.get("annotations", {}),
        },
    }


def welcome(version: str) -> Json:
    info = {"name": "tools", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}


def call(api: str, tool: Json, arguments: Json) -> Json:
    """Send the arguments to the API; the model reads that the tool ran, and what it was given."""
    data = json.dumps(arguments).encode()
    request = urllib.request.Request(api + tool["path"], data, {"Content-Type": "application/json"})  # noqa: S310
    request.method = tool["method"]
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
        pass
    words = f"{tool['name']} ran with {json.dumps(arguments, sort_keys=True)}"
    return {"content": [{"type": "text", "text": words}]}


def reply(api: str, tools: dict[str, Json], message: Json) -> Json | None:
    """Answer one message; None for those that want no answer."""
    if "id" not in message or "method" not in message:
        return None
    method, params = message["method"], message.get("params") or {}
    answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        return {**answer, "result": welcome(params.get("protocolVersion", "2025-06-18"))}
    if method == "ping":
        return {**answer, "result": {}}
    if method == "tools/list":
        return {**answer, "result": {"tools": [listed(tool) for tool in tools.values()]}}
    if method == "tools/call" and params.get("name") in tools:
        return {**answer, "result": call(api, tools[params["name"]], params.get("arguments") or {})}
    return {**answer, "error": {"code": -32601, "message": f"no {method} here"}}


def main(api: str, listing: str) -> None:
    tools = {tool["name"]: tool for tool in json.loads(listing)}
    for line in sys.stdin:
        answer = reply(api, tools, json.loads(line))
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])

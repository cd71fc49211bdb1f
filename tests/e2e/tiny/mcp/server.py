"""Two tools over stdio: things_list reads, things_create needs `confirm: true`."""

import json
import os
import sys
import urllib.request
from pathlib import Path

API = os.environ.get("ANVIL_BASE_URL", "")
SCHEMA = {"type": "object", "additionalProperties": True}


def call(name, arguments):
    if name == "things_create" and arguments.get("confirm") is not True:
        return {
            "isError": True,
            "content": [{"type": "text", "text": "the server refuses: confirm is missing"}],
        }
    data = json.dumps(arguments.get("body")).encode() if name == "things_create" else None
    request = urllib.request.Request(API + "/v1/things", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return {"content": [{"type": "text", "text": answer.read().decode()}]}


def result(method, params):
    if method == "initialize":
        info = {"name": "tiny", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        names = ("things_list", "things_create")
        return {"tools": [{"name": n, "description": n, "inputSchema": SCHEMA} for n in names]}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return None


if sys.argv[1:2] == ["prepare"]:
    made = Path.home() / ".cache" / "anvil" / "tiny"
    made.mkdir(parents=True)
    (made / "wheels").write_text(sys.argv[3], encoding="utf-8")
    sys.exit(0)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    found = result(message["method"], message.get("params") or {})
    error = {"error": {"code": -32601, "message": "no such method"}}
    body = error if found is None else {"result": found}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)

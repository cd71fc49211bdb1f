"""The MCP server of a probe: logs each message it gets, and answers as `serves.json` beside it says.

    python3 -I -S -B server.py NAME

`serves.json` is `{"tools": [...], "result": {...}, "elicit": {...}, "late": [...]}`: the tools as they are
listed, the result of every call (else the arguments come back), what is asked of the person before a call is
answered, and the names of the servers that wait before their first answer. It is copied into the probe's
plugin and imports nothing of this package.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOG = "server.log"
QUESTION = "the-question"
LATE = 1.5
MODERN = "2026-07-28"  # the protocol without a handshake; its results carry members of their own
Json = dict[str, Any]


def note(name: str, kind: str, value: Any) -> None:
    line = json.dumps({"name": name, "kind": kind, "value": value}) + "\n"
    with (HERE / LOG).open("ab", buffering=0) as file:
        file.write(line.encode())


def send(message: Json) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(serves: Json, params: Json) -> Json:
    words = f"{params.get('name')} ran with {json.dumps(params.get('arguments') or {}, sort_keys=True)}"
    return serves.get("result") or {"content": [{"type": "text", "text": words}]}


def answer(serves: Json, method: str, params: Json) -> Json:
    modern = serves.get("discover")
    complete: Json = {"resultType": "complete"} if modern else {}
    kept = {**complete, "ttlMs": 0, "cacheScope": "private"} if modern else {}
    if method == "server/discover" and modern:
        return {"result": {**kept, "supportedVersions": [MODERN], "capabilities": {"tools": {}}}}
    if method == "initialize":
        info = {"name": "probe", "version": "1"}
        version = params.get("protocolVersion")
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {**kept, "tools": serves["tools"]}}
    if method == "tools/call":
        return {"result": {**complete, **result_of(serves, params)}}
    return {"error": {"code": -32601, "message": f"no {method} here"}}


def main(name: str) -> None:
    serves: Json = json.loads((HERE / "serves.json").read_text(encoding="utf-8"))
    note(name, "env", dict(os.environ))
    time.sleep(LATE if name in serves.get("late", ()) else 0)
    waiting: list[tuple[Any, Json]] = []  # calls that are answered once the person has
    for line in sys.stdin:
        message = json.loads(line)
        note(name, "got", message)
        method, params = message.get("method"), message.get("params") or {}
        if message.get("id") == QUESTION:
            for call, asked in waiting:
                send({"id": call, **answer(serves, "tools/call", asked)})
        elif "id" not in message or method is None:
            continue
        elif method == "tools/call" and serves.get("elicit"):
            waiting = [(message["id"], params)]
            send({"id": QUESTION, "method": "elicitation/create", "params": serves["elicit"]})
        else:
            send({"id": message["id"], **answer(serves, method, params)})


if __name__ == "__main__":
    main(sys.argv[1])

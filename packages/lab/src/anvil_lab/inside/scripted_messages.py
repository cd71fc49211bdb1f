"""A scripted model that speaks the Messages API, streaming.

It keeps no state of the conversation: which turn to answer with is counted from the request itself, so a
retry gets the same answer. Requests that offer no tools (side questions of a client) get a plain `ok`.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast

from anvil_lab.inside.local_server import LocalServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Json = dict[str, Any]
LAST_WORDS = "The script is at its end."
TASK = "Make the calls of the script."
AGENT_SECONDS = 60
_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 5,
}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_use(turn: int, name: str, arguments: Any) -> Json:
    return {"type": "tool_use", "id": f"toolu_{turn:04d}", "name": name, "input": arguments}


class Model(LocalServer):
    """`turns[i]` is the answer to a request that holds `i` answers already."""

    def __init__(
        self,
        turns: Sequence[Sequence[Json]],
        before: Callable[[int], None] | None = None,
        *,
        subagent: bool = False,
    ) -> None:
        super().__init__(_Handler)
        self.subagent = subagent
        self.ended = threading.Event()
        self.turns = [list(turn) for turn in turns]
        self.before = before or (lambda _turn: None)
        self.turn = -1
        self.requests: list[Json] = []
        self.unexpected: list[str] = []

    def script(self, calls: Sequence[tuple[str, Any]], *, together: bool = False) -> list[str]:
        """Take the calls (name, arguments) that the model will make, one a turn or all in one; their ids."""
        uses = [tool_use(turn, name, arguments) for turn, (name, arguments) in enumerate(calls)]
        self.turns = [*([uses] if together else ([use] for use in uses)), [text(LAST_WORDS)]]
        return [str(use["id"]) for use in uses]

    def offered(self) -> list[str]:
        """The names of the tools that the model could call."""
        requests = self.main_requests()
        return [str(tool.get("name")) for tool in requests[0]["tools"]] if requests else []

    def main_requests(self) -> list[Json]:
        """The bodies of the conversation's requests, side questions left out."""
        return [body for body in self.requests if body.get("tools")]

    def answer(self, body: Json) -> list[Json]:
        if self.subagent and body.get("tools") and not _is_task(body):
            return self._delegate(body)
        with self.lock:
            self.requests.append(body)
            if not body.get("tools"):
                return [text("ok")]
            turn = sum(1 for message in body.get("messages", []) if message.get("role") == "assistant")
            if turn > self.turn:
                self.before(turn)
                self.turn = turn
        if turn >= len(self.turns) - 1:
            self.ended.set()
        return self.turns[turn] if turn < len(self.turns) else [text(LAST_WORDS)]

    def _delegate(self, body: Json) -> list[Json]:
        """Start an agent that makes the calls, and have the last word when it has ended."""
        if any(message.get("role") == "assistant" for message in body.get("messages", [])):
            self.ended.wait(AGENT_SECONDS)
            return [text(LAST_WORDS)]
        task = {"description": "the script", "prompt": TASK, "subagent_type": "general-purpose"}
        return [{"type": "tool_use", "id": "toolu_agent", "name": "Agent", "input": task}]


def _is_task(body: Json) -> bool:
    """Whether a conversation is the agent's own: its first words are the task."""
    return TASK in json.dumps(body["messages"][:1])


def events(body: Json, blocks: Sequence[Json]) -> list[Json]:
    """The stream for one answer."""
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    out: list[Json] = [{"type": "message_start", "message": {**_message(body, []), "stop_reason": None}}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            opened = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        out += [
            {"type": "content_block_start", "index": index, "content_block": opened},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ending = {"stop_reason": stop, "stop_sequence": None}
    out += [
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return out


def _message(body: Json, blocks: Sequence[Json]) -> Json:
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return {
        "id": f"msg_{len(body.get('messages', [])):04d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _USAGE,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._unexpected()

    def do_POST(self) -> None:
        model = cast("Model", self.server)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, "application/json", b'{"input_tokens": 100}')
        elif not path.endswith("/v1/messages"):
            self._unexpected()
        else:
            blocks = model.answer(body)
            if body.get("stream"):
                stream = "".join(
                    f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(body, blocks)
                )
                self._send(200, "text/event-stream", stream.encode())
            else:
                self._send(200, "application/json", json.dumps(_message(body, blocks)).encode())

    def _unexpected(self) -> None:
        cast("Model", self.server).unexpected.append(f"{self.command} {self.path}")
        error = {"type": "error", "error": {"type": "not_found_error", "message": f"no {self.path} here"}}
        self._send(404, "application/json", json.dumps(error).encode())

    def _send(self, status: int, kind: str, payload: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

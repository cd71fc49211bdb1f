"""A scripted model that speaks the Responses API, streaming, in the two forms in which models call tools.

`plain`: a function call with its server's namespace. `code`: a custom tool call with JavaScript that awaits
the tool. Like a real model it makes its first call when the tools are there: while a server that the script
needs is not ready, it looks at what there is, and is asked again.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Literal, cast

from anvil_lab.inside.local_server import LocalServer
from anvil_lab.inside.scripted_messages import LAST_WORDS, TASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Json = dict[str, Any]
Shape = Literal["plain", "code"]
LOOK = 'text(ALL_TOOLS.map(tool => tool.name).join(" "))'
LOOKS, PAUSE = 40, 0.25
_RENAMED = r"_[0-9a-f]{12}"
_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}


class Model(LocalServer):
    """Which call to answer with is counted from the request itself, so a retry gets the same answer."""

    def __init__(
        self,
        shape: Shape = "plain",
        before: Callable[[int], None] | None = None,
        *,
        servers: int = 0,
        subagent: bool = False,
    ) -> None:
        super().__init__(_Handler)
        self.shape = shape
        self.servers = servers
        self.subagent = subagent
        self.ended = threading.Event()
        self.calls: list[tuple[str, Any]] = []
        self.together = False
        self.before = before or (lambda _turn: None)
        self.turn = -1
        self.looks = 0
        self.requests: list[Json] = []
        self.unexpected: list[str] = []

    def script(self, calls: Sequence[tuple[str, Any]], *, together: bool = False) -> list[str]:
        """Take the calls (name as a hook sees it, arguments) that the model will make; their ids."""
        self.calls, self.together = list(calls), together
        return [call_id(turn) for turn in range(len(calls))]

    def main_requests(self) -> list[Json]:
        """The bodies of the conversation's requests, side questions left out."""
        return [body for body in self.requests if has_tools(body)]

    def offered(self) -> list[str]:
        """The tools that the model saw last, by their whole names."""
        requests = self.main_requests()
        return sorted(offered(requests[-1])) if requests else []

    def answer(self, body: Json) -> list[Json]:
        """The items of output for a request."""
        if self.subagent and has_tools(body) and not _is_task(body):
            return [self._delegate(body)]
        with self.lock:
            self.requests.append(body)
            if not has_tools(body):
                return [message('{"title": "A script"}')]
            turn = sum(
                1 for item in body["input"] if _is_output(item) and item["call_id"].startswith("call_")
            )
            names = offered(body)
            if turn == 0 and self.looks < LOOKS and not self._ready(names):
                self.looks += 1
                time.sleep(PAUSE)
                return [self._look()]
            if turn > self.turn:
                self.before(turn)
                self.turn = turn
            if turn >= len(self.calls):
                self.ended.set()
                return [message(LAST_WORDS)]
            whole = enumerate(self.calls)
            now = whole if self.together else [(turn, self.calls[turn])]
            return [self._call(number, resolve(name, names), given) for number, (name, given) in now]

    def _delegate(self, body: Json) -> Json:
        """Start an agent that makes the calls, and have the last word when it has ended."""
        if any(_is_output(item) for item in body["input"]):
            self.ended.wait(60)
            return message(LAST_WORDS)
        arguments = json.dumps({"message": TASK, "task_name": "script"})
        item = {"type": "function_call", "call_id": "spawn_0000", "arguments": arguments}
        return {**item, "namespace": "multi_agent_v1", "name": "spawn_agent"}

    def _ready(self, names: Iterable[str]) -> bool:
        """Whether all the servers are there: a late one can give the tools of another one new names."""
        known = {server_of(name) for name in names} - {""}
        if len(known) < self.servers:
            return False
        wanted = {server_of(name) for name, _ in self.calls} - {""}
        return all(any(re.fullmatch(f"{one}({_RENAMED})?", name) for name in known) for one in wanted)

    def _look(self) -> Json:
        if self.shape == "code":
            return custom_call(f"look_{self.looks:04d}", LOOK)
        return function_call(f"look_{self.looks:04d}", "get_goal", {})

    def _call(self, turn: int, name: str, arguments: Any) -> Json:
        if self.shape == "code":
            script = f"text(await tools[{json.dumps(name)}]({json.dumps(arguments)}))"
            return custom_call(call_id(turn), script)
        return function_call(call_id(turn), name, arguments)


def call_id(turn: int) -> str:
    return f"call_{turn:04d}"


def function_call(identity: str, name: str, arguments: Any) -> Json:
    """A call of a tool, in its server's namespace where it has one."""
    space = server_of(name)
    item = {"type": "function_call", "call_id": identity, "arguments": json.dumps(arguments)}
    return item | ({"namespace": space, "name": name[len(space) + 2 :]} if space else {"name": name})


def custom_call(identity: str, script: str) -> Json:
    return {"type": "custom_tool_call", "call_id": identity, "name": "exec", "input": script}


def message(words: str) -> Json:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def server_of(name: str) -> str:
    """``mcp__server`` of a server's tool, else nothing."""
    return name.rpartition("__")[0] if name.startswith("mcp__") else ""


def has_tools(body: Json) -> bool:
    return bool(body.get("tools")) or any(item.get("type") == "additional_tools" for item in body["input"])


def offered(body: Json) -> set[str]:
    """The whole names of a request's tools: as it lists them, or as the model's last look at them did."""
    found = set()
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            found |= {f"{tool['name']}__{one['name']}" for one in tool["tools"]}
        else:
            found.add(str(tool.get("name") or tool.get("type")))
    looks = [item for item in body["input"] if _is_output(item) and item["call_id"].startswith("look_")]
    if looks and not isinstance(looks[-1]["output"], str):
        found |= set(str(looks[-1]["output"][-1].get("text", "")).split())
    return found


def resolve(name: str, names: Iterable[str]) -> str:
    """The name under which a tool is offered: another server that is spelled alike makes it another one."""
    names = sorted(names)
    space = server_of(name)
    if not space or any(server_of(one) == space for one in names):
        return name
    renamed = re.escape(space) + _RENAMED + re.escape(name[len(space) :])
    return next((one for one in names if re.fullmatch(renamed, one)), name)


def _is_task(body: Json) -> bool:
    given = [item for item in body["input"] if item.get("role") == "user" or item["type"] == "agent_message"]
    return any(TASK in json.dumps(item) for item in given)


def _is_output(item: Json) -> bool:
    return str(item.get("type")).endswith("call_output")


def events(number: int, items: Sequence[Json]) -> list[Json]:
    """The stream for one answer."""
    made = [{**item, "id": f"item_{number:04d}_{at}", "status": "completed"} for at, item in enumerate(items)]
    response = {"id": f"resp_{number:04d}", "object": "response", "output": []}
    whole = {**response, "status": "completed", "output": made, "usage": _USAGE}
    stream: list[Json] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for at, item in enumerate(made):
        begun = {**item, "status": "in_progress"}
        stream += [
            {"type": "response.output_item.added", "output_index": at, "item": begun},
            {"type": "response.output_item.done", "output_index": at, "item": item},
        ]
    return [*stream, {"type": "response.completed", "response": whole}]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._unexpected()

    def do_POST(self) -> None:
        model = cast("Model", self.server)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.split("?")[0].endswith("/v1/responses"):
            self._unexpected()
            return
        items = model.answer(body)
        stream = events(len(model.requests), items)
        lines = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in stream)
        self._send(200, "text/event-stream", lines.encode())

    def _unexpected(self) -> None:
        cast("Model", self.server).unexpected.append(f"{self.command} {self.path}")
        self._send(
            404, "application/json", b'{"error": {"message": "not here", "type": "invalid_request_error"}}'
        )

    def _send(self, status: int, kind: str, payload: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

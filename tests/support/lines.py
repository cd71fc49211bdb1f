"""An MCP client by hand: JSON-RPC lines over the standard input and output of a server, in one version.

Nothing of the SDK is used, so that what is tested is what stands on the wire.
"""

from __future__ import annotations

import json
import subprocess
from itertools import count
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
VERSIONS = (*HANDSHAKES, *STATELESS)
META = "io.modelcontextprotocol/"
CLIENT = {"name": "by-hand", "version": "1"}
Message = dict[str, Any]


class Lines:
    """A session of one protocol version. ``form`` answers what the server asks of a person, where it does.

    ``received`` is every message of the server, in order; ``asked`` the forms.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: dict[str, str],
        folder: Path,
        version: str,
        form: Callable[[Message], Message] | None = None,
    ) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environ, cwd=folder)
        self.version, self.form = version, form
        self.capabilities: Message = {"elicitation": {}} if form else {}
        self.received: list[Message] = []
        self.asked: list[Message] = []
        self.numbers = count(1)
        self.started: Message = {}

    def __enter__(self) -> Self:
        if self.version in STATELESS:
            self.started = self.ask("server/discover")["result"]
            return self
        said = {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": CLIENT}
        self.started = self.ask("initialize", said)["result"]
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def tell(self, message: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Message | None = None) -> int:
        """A request, with the fields of its version. Returns its id."""
        number, params = next(self.numbers), dict(params or {})
        if self.version in STATELESS:
            said = {"protocolVersion": self.version, "clientCapabilities": self.capabilities}
            params["_meta"] = {META + name: value for name, value in {**said, "clientInfo": CLIENT}.items()}
        self.tell({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def read(self) -> Message:
        """The next message of the server."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"the server ended with exit code {self.process.wait(30)}"
        message: Message = json.loads(line)
        self.received.append(message)
        return message

    def answer_to(self, number: int) -> Message:
        """The answer to a request; what the server asks meanwhile is answered."""
        while True:
            message = self.read()
            if "method" in message and "id" in message:
                self.asked.append(message["params"])
                assert self.form
                self.tell({"jsonrpc": "2.0", "id": message["id"], "result": self.form(message["params"])})
            elif message.get("id") == number:
                return message

    def ask(self, method: str, params: Message | None = None) -> Message:
        """The whole answer to a request: ``result`` or ``error``."""
        return self.answer_to(self.send(method, params))

    def call(self, tool: str, args: object) -> Message:
        """The result of a call, after the form, if one is asked for. Raises KeyError for an error."""
        params: Message = {"name": tool, "arguments": args}
        result: Message = self.ask("tools/call", params)["result"]
        if result.get("resultType") == "input_required":
            assert self.form
            asked = {name: one["params"] for name, one in result["inputRequests"].items()}
            self.asked += asked.values()
            answers = {name: self.form(one) for name, one in asked.items()}
            again = {**params, "inputResponses": answers, "requestState": result["requestState"]}
            result = self.ask("tools/call", again)["result"]
        return result


def code_of(result: Message) -> str | None:
    """The code of a refusal, None for an answer."""
    if not result.get("isError"):
        return None
    return str(json.loads(result["content"][0]["text"])["error"]["code"])

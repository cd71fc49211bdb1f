"""Both rings of this bundle as they run: its hooks as processes, its server over standard input and output.

Standard library only, since whoever has the bundle has nothing else. The API is a local one that counts
what reaches it, and everything that hook and server keep goes into a folder of the run's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

PROTOCOL = "2025-11-25"
SECONDS = 60
INVALID_PARAMS = -32602
NO_REQUEST = "(not a valid request)"


class UnacceptableError(Exception):
    """The server says that a request's parameters are not of the protocol's form (JSON-RPC -32602)."""


class Api:
    """A local HTTP API that answers everything with ``{}`` and remembers what reached it."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                api.reached.append(f"{self.command} {self.path}")
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(b"{}")

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> Api:  # noqa: PYI034  # Self is new in Python 3.11
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Server:
    """The bundle's own MCP server as a process. Raises RuntimeError, with its words, where it ends early."""

    def __init__(self, bundle: Path, state: Path, api: str, cache: str | None) -> None:
        command = [sys.executable, "-I", str(bundle / "mcp" / "server.py"), "--state", str(state)]
        command += ["--cache", cache] if cache else []
        environ = {**os.environ, "ANVIL_BASE_URL": api}
        pipe, folder = subprocess.PIPE, state.parent / "work"
        self.process = subprocess.Popen([*command, "serve"], stdin=pipe, stdout=pipe, env=environ, cwd=folder)
        self.number = 0

    def __enter__(self) -> Server:  # noqa: PYI034  # Self is new in Python 3.11
        client = {"name": "anvil-conformance", "version": "1"}
        self.ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self.ended() from None

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises UnacceptableError for one that is no valid request at all."""
        self.number += 1
        self.tell({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("id") == self.number and "method" not in said:
                if said.get("error", {}).get("code") == INVALID_PARAMS:
                    raise UnacceptableError
                if "error" in said:
                    raise RuntimeError(f"the server answers {method} with {said['error']}")
                result: dict[str, Any] = said["result"]
                return result
        raise self.ended()

    def ended(self) -> RuntimeError:
        code = self.process.wait(SECONDS)
        return RuntimeError(f"the server ended with exit code {code}; what it said stands above")

    def tools(self) -> list[dict[str, Any]]:
        """Every tool that it lists, page by page."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", cursor)
            found += page["tools"]
            if not page.get("nextCursor"):
                return found
            cursor = {"cursor": page["nextCursor"]}

    def code(self, tool: str, args: object) -> str | None:
        """The code that a call is refused with, or None when it has an answer."""
        try:
            result = self.ask("tools/call", {"name": tool, "arguments": args})
        except UnacceptableError:
            return NO_REQUEST
        if not result.get("isError"):
            return None
        return str(json.loads(result["content"][0]["text"])["error"]["code"])


class Hook:
    """One harness's hook, started through the command line of the emitted file.

    ``facts`` is its part of ``conformance.json``: the hooks file, the variable that names the bundle, what
    stands before a tool's name, the event without the call.
    """

    def __init__(self, bundle: Path, facts: dict[str, Any], state_name: str, state: Path) -> None:
        hooks = json.loads((bundle / facts["hooks"]).read_text(encoding="utf-8"))["hooks"]
        ((group,),) = hooks.values()
        (hook,) = group["hooks"]
        self.command = hook["command"].replace(f" {state_name})", f" {state})")
        if self.command == hook["command"]:
            raise RuntimeError(f"{facts['hooks']} does not name the folder {state_name}")
        self.prefix, self.event = facts["prefix"], facts["event"]
        self.environ = {"PATH": os.environ["PATH"], facts["root_variable"]: str(bundle)}
        self.folder = state.parent / "work"

    def refuses(self, tool: str, args: object) -> bool:
        """Whether it denies or asks. Raises RuntimeError for a hook that fails, or that allows."""
        return self.says(self.prefix + tool, args) is not None

    def says(self, name: str, args: object) -> str | None:
        """Its verb, or None for a call that it has nothing against."""
        return self.answer(name, args)[0]

    def answer(self, name: str, args: object) -> tuple[str | None, str | None]:
        """(verb, reason) of one call, both None for one that it has nothing against."""
        event = {**self.event, "tool_name": name, "tool_input": args, "tool_use_id": os.urandom(8).hex()}
        done = subprocess.run(
            ["/bin/sh", "-c", self.command],
            input=json.dumps(event).encode(),
            capture_output=True,
            env=self.environ,
            cwd=self.folder,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the hook failed on {name}: {done.stderr.decode(errors='replace')}")
        said = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        verb = said.get("permissionDecision")
        if verb not in (None, "deny", "ask"):
            raise RuntimeError(f"the hook answers {verb} to {name}: a hook never grants anything")
        return verb, said.get("permissionDecisionReason")

"""Both rings of an emitted bundle asked the same: its hook as a process, and its executor.

The hook is started through the command line of the emitted ``hooks.json``; the executor sends to
whatever it is given. Refused or not is compared, not the code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hookcore
from anvil_runtime import gates
from anvil_runtime.execute import execute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_runtime.execute import Executor

ROOT = Path(__file__).parents[2]
EXAMPLES = ("payments", "paypal-payments", "notion")
BEHIND_THE_GATES = {"invalid_arguments", "upstream_error"}


def compile_examples(parent: Path, names: Sequence[str] = EXAMPLES) -> dict[str, Path]:
    """{example: folder of its bundle}, made by the command line as a user makes it."""
    for name in names:
        command = [sys.executable, "-m", "anvil_generator", "compile", str(ROOT / "examples" / name)]
        subprocess.run([*command, "--out", str(parent / name)], check=True, capture_output=True)
    return {name: parent / name for name in names}


class Api:
    """A local HTTP API that answers everything and remembers what reached it."""

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


def hook_command(bundle: Path) -> tuple[str, str]:
    """(the emitted command line, the prefix of the tools' names in the harness)."""
    hooks = json.loads((bundle / "plugin/claude/hooks.json").read_text(encoding="utf-8"))
    (matcher,) = hooks["hooks"]["PreToolUse"]
    (hook,) = matcher["hooks"]
    return hook["command"], matcher["matcher"].removeprefix("^")


def ask_hook(bundle: Path, call: dict[str, Any]) -> str | None:
    """The reason of the hook's denial, or None when it passed."""
    command, prefix = hook_command(bundle)
    event = {
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": prefix + call["tool"],
        "tool_input": call["args"],
        "tool_use_id": "toolu_1",
    }
    environ = {"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": str(bundle)}
    done = subprocess.run(
        ["sh", "-c", command], input=json.dumps(event).encode(), capture_output=True, env=environ, check=False
    )
    assert done.returncode == 0, (call, done.stderr.decode())
    if not done.stdout:
        return None
    said = json.loads(done.stdout)["hookSpecificOutput"]
    if "permissionDecision" not in said:  # context beside a call that passes
        assert set(said) == {"hookEventName", "additionalContext"}
        return None
    assert said["permissionDecision"] == "deny"
    return said["permissionDecisionReason"]


def hook_answers(bundle: Path, made: list[dict[str, Any]]) -> list[str | None]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda call: ask_hook(bundle, call), made))


def in_process(bundle: Path, call: dict[str, Any]) -> Any:
    """The decision core's own decision: the same code as in the hook, for the names of the codes."""
    return hookcore.evaluate(str(bundle / "catalog.json"), call["tool"], call["args"], {"human": False})


def gates_say(executor: Executor, call: dict[str, Any]) -> str | None:
    """The code that the executor's safety gates refuse with, or None."""
    bundle = executor.bundle
    name, args = call["tool"], call["args"]
    if name == bundle.air.preview:
        name = args.get("operation") if isinstance(args, dict) else None
        operation = bundle.by_name.get(name) if isinstance(name, str) else None
        refused = gates.state_gate(operation) if operation else None
        return "unknown_operation" if operation is None else refused and refused.code
    operation = bundle.by_name.get(name)
    if operation is None:
        return "unknown_operation"
    refused = gates.safety_gates(operation, args, bundle.air.preview)
    return refused and refused.code


def disagreements(
    executor: Executor, made: list[dict[str, Any]], denied: list[bool], reached: list[str]
) -> list[str]:
    """Every call on which the rings differ, in words."""
    found = []
    for call, hook_denied in zip(made, denied, strict=True):
        before = len(reached)
        outcome = execute(executor, call["tool"], call["args"])
        sent, code = len(reached) - before, gates_say(executor, call)
        where = f"{call['kind']} {call['tool']} {json.dumps(call['args'])[:200]}"
        if hook_denied and (outcome.refusal is None or sent):
            found.append(f"the hook denies, the executor sends {sent}: {where}")
        if hook_denied and code is None:
            found.append(f"the hook denies, the gates pass: {where}")
        if not hook_denied and code is not None:
            found.append(f"the hook passes, the gates say {code}: {where}")
        if not hook_denied and outcome.refusal and outcome.refusal.code not in BEHIND_THE_GATES:
            found.append(f"the hook passes, the executor says {outcome.refusal.code}: {where}")
        if sent > 1:
            found.append(f"sent {sent} times: {where}")
    return found

"""I2: on the same bundle and input, the hook of the bundle and the executor refuse the same calls.

The hook is the real process, started through the command line of the emitted ``hooks.json``; the
executor sends to a local HTTP API that counts what reaches it. Refused or not is compared, not the code.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from agreement.agreement_calls import calls, tools_of

import hookcore
from anvil_runtime import gates
from anvil_runtime.bundle import load
from anvil_runtime.execute import Executor, execute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.invariant("I2"), pytest.mark.timeout(300)]
SEED, COUNT, LEAST_SHARE = 20261130, 200, 0.15
EXAMPLES = ("payments", "paypal-payments", "notion")
BEHIND_THE_GATES = {"invalid_arguments", "upstream_error"}


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


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


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


def make(bundles: dict[str, Path], name: str, url: str) -> tuple[Path, Executor, list[dict[str, Any]]]:
    folder = bundles[name]
    loaded = load(folder)
    made = calls(tools_of(folder), loaded.air.preview, SEED, COUNT)
    return folder, Executor(loaded, environ={"ANVIL_BASE_URL": url}), made


@pytest.mark.parametrize("name", EXAMPLES)
def test_hook_process_and_executor_agree_on_generated_calls(name, bundles, api, capsys):
    folder, executor, made = make(bundles, name, api.url)
    api.reached.clear()
    answers = hook_answers(folder, made)
    denied = [answer is not None for answer in answers]
    assert disagreements(executor, made, denied, api.reached) == []

    codes = Counter(in_process(folder, call).code or "pass" for call in made)
    share = sum(denied) / len(made)
    with capsys.disabled():
        print(
            f"\n{name}: {share:.0%} of {len(made)} denied, {len(api.reached)} sent; {sorted(codes.items())}"
        )
    assert min(share, 1 - share) >= LEAST_SHARE
    assert len(api.reached) >= 0.15 * len(made), "too few calls were whole: the comparison would say little"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_hook_process_says_what_the_core_decides(name, bundles):
    """So that a larger run in process speaks for the process too."""
    folder = bundles[name]
    made = calls(tools_of(folder), load(folder).air.preview, SEED + 1, 40)
    assert hook_answers(folder, made) == [
        decision.reason if decision.verb == hookcore.DENY else None
        for decision in (in_process(folder, call) for call in made)
    ]


def test_the_same_seed_gives_the_same_calls_and_another_gives_others(bundles):
    tools = tools_of(bundles["payments"])
    assert calls(tools, "preview", 1, 50) == calls(tools, "preview", 1, 50)
    assert calls(tools, "preview", 1, 50) != calls(tools, "preview", 2, 50)


def test_the_calls_are_plain_data_and_of_every_kind(bundles):
    made = calls(tools_of(bundles["payments"]), "preview", SEED, 2000)
    assert json.loads(json.dumps(made)) == made
    kinds = {call["kind"].rpartition(":")[2] for call in made}
    assert kinds >= {
        "whole", "bare", "no_confirm", "bad_confirm", "no_key", "bad_key", "dry_run", "dry_run_bare",
        "bad_dry_run", "unknown_tool", "unknown_argument", "not_an_object", "preview", "bad_operation",
    }  # fmt: skip


def test_every_code_of_the_core_is_reached(bundles):
    codes = Counter()
    for name in EXAMPLES:
        folder = bundles[name]
        for call in calls(tools_of(folder), load(folder).air.preview, SEED, 1500):
            codes[in_process(folder, call).code] += 1
    wanted = {
        None, "unknown_operation", "operation_not_approved", "invalid_arguments", "confirmation_required",
        "human_approval_required", "idempotency_key_required", "idempotency_key_malformed",
    }  # fmt: skip
    assert {code: codes[code] for code in wanted if codes[code] < 20} == {}


MUTANTS = {
    "confirmation is not asked": ("confirmation_fault", lambda _operation, _args: None),
    "any text is a key": ("key_fits", lambda key, _form: isinstance(key, str)),
    "state is not looked at": ("state_gate", lambda _operation: None),
    "no human approval": ("human_gate", lambda _operation: None),
    "dry run by anything": (
        "is_dry_run",
        lambda operation, args: bool(operation.controls.dry_run and args.get(operation.controls.dry_run)),
    ),
    "no key is missed": ("key_fault", lambda _operation, _args: None),
    "confirmation always asked": ("confirmation_fault", lambda _operation, _args: "confirmation_required"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_gate_that_is_wrong_is_noticed(mutant, bundles, api, monkeypatch):
    """The comparison can fail: each of these changes of one gate of the executor is a disagreement."""
    folder, executor, made = make(bundles, "payments", api.url)
    denied = [in_process(folder, call).verb == hookcore.DENY for call in made]
    assert disagreements(executor, made, denied, api.reached) == []
    monkeypatch.setattr(gates, *MUTANTS[mutant])
    assert disagreements(executor, made, denied, api.reached)


def test_a_core_that_is_wrong_is_noticed(bundles, api, monkeypatch):
    """And the other way: a decision core that misses a key."""
    folder, executor, made = make(bundles, "payments", api.url)
    monkeypatch.setattr(hookcore, "key_problem", lambda _value, _form: None)
    denied = [in_process(folder, call).verb == hookcore.DENY for call in made]
    assert disagreements(executor, made, denied, api.reached)

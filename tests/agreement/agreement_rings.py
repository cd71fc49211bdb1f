"""Both rings of an emitted bundle asked the same: its hook as a process, and its executor.

The hook is started through the command line of the emitted ``hooks.json``; the executor sends to
whatever it is given. Refused or not is compared, not the code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hookcore
from anvil_generator.conformance.bundle_rings import Hook
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


def hook_command(bundle: Path) -> tuple[str, str]:
    """(the emitted command line, the prefix of the tools' names in the harness)."""
    hooks = json.loads((bundle / "plugin/claude/hooks.json").read_text(encoding="utf-8"))
    (matcher,) = hooks["hooks"]["PreToolUse"]
    (hook,) = matcher["hooks"]
    return hook["command"], matcher["matcher"].removeprefix("^")


def hooks_of(bundle: Path, scratch: Path) -> dict[str, Hook]:
    """The emitted hook of each harness; what they keep goes below ``scratch``."""
    facts = json.loads((bundle / "tests/conformance.json").read_text(encoding="utf-8"))
    (scratch / "work").mkdir(exist_ok=True)
    state = scratch / "state"
    return {name: Hook(bundle, one, facts["state"], state) for name, one in facts["harnesses"].items()}


def hook_answers(hook: Hook, made: list[dict[str, Any]]) -> list[tuple[str | None, str | None]]:
    """(verb, reason) of each call, both None for one that passes."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda call: hook.answer(hook.prefix + call["tool"], call["args"]), made))


def in_process(bundle: Path, call: dict[str, Any]) -> Any:
    """The decision core's own decision: the same code as in the hook, for the names of the codes."""
    return hookcore.evaluate(str(bundle / "catalog.json"), call["tool"], call["args"], {"human": False})


def says_what_the_core_decides(decision: Any, verb: str | None, reason: str | None) -> bool:
    """Whether a hook's answer is the core's decision, so that a run in process speaks for the process too."""
    if decision.code != "human_approval_required":
        return reason == (decision.reason if decision.verb == hookcore.DENY else None)
    # Here the process says more: it asks, or holds the call and says how a person can run it.
    start = decision.reason.removesuffix(hookcore.ASK_A_PERSON)
    return verb == "ask" or (reason or "").startswith(start + "A person can run it: ")


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

"""``allow``: a person at a terminal reads one held call whole, types a fresh code, and it is sent once.

The only place that sets ``Caller.approve``. The answer comes from the terminal alone: no argument, variable
or piped input stands for it. A program that makes itself a terminal can do all this too, as it can do
everything that its user can (docs/explanation/human-approval.md).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from typing import TYPE_CHECKING

from anvil_runtime import held as calls
from anvil_runtime.asking import escape
from anvil_runtime.caller import Caller
from anvil_runtime.code_form import fresh_code
from anvil_runtime.execute import Executor, Outcome, execute
from anvil_runtime.plan import shown
from anvil_runtime.words import approval_note, argument_digest

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_core.air import Operation
    from anvil_runtime.held import Held
    from anvil_runtime.plan import Plan

INPUT, OUTPUT = 0, 1
NO_TERMINAL = (
    "this asks a person, on a terminal that is both standard input and standard output: run it in one "
    "yourself, without a pipe. Nothing was sent."
)


def has_terminal() -> bool:
    """Whether both ends are a terminal: what is piped in, or read by a program, is no person's."""
    return os.isatty(INPUT) and os.isatty(OUTPUT)


def check_terminal() -> None:
    """Raises HeldError where nobody can be asked."""
    if not has_terminal():
        raise calls.HeldError(NO_TERMINAL)


def allow(executor: Executor, name: str) -> Outcome:
    """Ask about the held call, and send it after a yes. Raises HeldError, StateError.

    All other gates come first, so that nobody is asked about a call that cannot be sent; the call is taken
    after the yes and before it is sent.
    """
    check_terminal()
    folder = executor.folder.ready()
    held = calls.find(folder, name, about(executor))
    operation = executor.bundle.by_name.get(held.about["tool"])
    if operation is None or operation.id != held.about["operation"]:
        raise calls.HeldError(f"call {name} is of an operation that this bundle does not have. {calls.AGAIN}")
    if not operation.confirmation.human_approval:
        raise calls.HeldError(f"call {name} needs no person's approval: use `call`.")

    def approve(plan: Plan, digest: str) -> str | None:
        if digest != argument_digest(operation, held.arguments):
            return "taken"
        if not is_approved(operation, request(executor, operation, held, plan)):
            say("Nothing was sent; the call still waits.")
            return "not_approved"
        return taken(folder, held)

    return execute(executor, operation.name, held.arguments, Caller("person", approve=approve))


def about(executor: Executor) -> dict[str, str]:
    """What a call must say that was held under the contract of this bundle."""
    service = executor.bundle.air.service
    digest = executor.bundle.contract_digest
    return {"service": service.id, "origin": str(service.origin), "contract_digest": digest}


def taken(folder: Path, held: Held) -> str | None:
    """None when the call is now ours alone, and still the one that was shown."""
    try:
        calls.burn(folder, held)
    except calls.HeldError:
        return "taken"
    return None


def request(executor: Executor, operation: Operation, held: Held, plan: Plan) -> list[str]:
    """What the person reads: of the contract, and the exact request, whole. No line can act on a terminal."""
    whole = shown(plan, longest_body=len(plan.body or b""))
    told = executor.secrets.clean(whole)
    lines = [
        f"{executor.bundle.air.service.title}: this call needs a person.",
        f"Operation: {operation.name} ({operation.id})",
        f"Effect: {approval_note(operation)}",
        f"Asked for: {age_text(held.age)} ago, as {held.id}",
        f"Bundle: {executor.bundle.folder}",
        "",
        f"{told['method']} {told['url']}",
        *(f"{header}: {value}" for header, value in told["headers"].items()),
    ]
    if whole["body"] is not None:
        lines += marked(told["body"])
    if whole["body"] == f"({len(plan.body or b'')} bytes of {plan.media_type})":  # it is no text
        lines += ["Made of these arguments:", *marked(executor.secrets.clean(held.arguments))]
    return [escape(line) for line in lines]


def marked(value: object) -> list[str]:
    """A JSON value or a text, each line marked, so that none passes for one of ours."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [f"  | {line}" for line in text.split("\n")]


def age_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def is_approved(operation: Operation, lines: list[str]) -> bool:
    """Whether the person types the code that stands below these lines. Ctrl-C and no input are a no."""
    code = fresh_code()
    prompt = f"To send {operation.name} once, type {code} and press Enter. Anything else, or Ctrl-C, refuses."
    try:
        forget_what_was_typed()
        say(*lines, "", prompt)
        typed = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        say("")
        return False
    return secrets.compare_digest(typed.rstrip(b"\r\n"), code.encode())


def forget_what_was_typed() -> None:
    """What was typed before the question stood there is no answer to it."""
    with contextlib.suppress(ImportError, OSError):
        import termios  # noqa: PLC0415  # not on every system

        with contextlib.suppress(termios.error):
            termios.tcflush(INPUT, termios.TCIFLUSH)


def say(*lines: str) -> None:
    """Print, also where the terminal's encoding has no such character."""
    encoding = sys.stdout.encoding or "ascii"
    text = "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)
    print(text, flush=True)

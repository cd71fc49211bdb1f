"""``allow ID``: a person looks at a call that waits, types a code, and it is sent once, from here.

There is no approval to pass on: the one who types is the one who sends. Standard input and output must be a
terminal, since nothing that is piped in is a person.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import TYPE_CHECKING

from anvil_runtime import held
from anvil_runtime.asking import escape
from anvil_runtime.bundle import load
from anvil_runtime.call import OK, REFUSED, executor_of, exit_code
from anvil_runtime.caller import Caller
from anvil_runtime.execute import execute
from anvil_runtime.held import Held, HeldError
from anvil_runtime.human import about
from anvil_runtime.state import StateError
from anvil_runtime.words import approval_note, argument_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from anvil_core.air import Operation
    from anvil_runtime.execute import Executor
    from anvil_runtime.state import StateFolder

LETTERS, LENGTH = "ABCDEFGHJKLMNPQRSTUVWXYZ", 4


def run_pending(folders: Sequence[StateFolder], *, as_json: bool) -> int:
    """Show the calls that wait, over these state folders."""
    found = [one for folder in folders if folder.path.is_dir() for one in held.all_of(folder.path)]
    if as_json:
        print(json.dumps({"ok": True, "pending": [one.data for one in found]}, indent=2))
        return OK
    for one in found:
        data, minutes = one.data, one.age(time.time()) / 60
        of = f"{escape(data['operation'])}  {minutes:.0f} min ago  {escape(data['bundle'])}"
        print(f"{data['id']}  {of}")
    if not found:
        print("No call waits for a person.")
    return OK


def run_allow(bundle: Path, state: Path | None, name: str) -> tuple[dict[str, Any] | None, int]:
    """(envelope, exit code); no envelope where the person did not approve. Raises HeldError, BundleError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HeldError("`allow` is for a person at a terminal: nothing was sent.")
    executor = executor_of(load(bundle), None, state)
    try:
        folder = executor.folder.ready()
    except StateError as error:
        raise HeldError(f"{error} Nothing was sent.") from None
    one = held.read(folder, name)
    operation = operation_of(executor, one)
    args = one.data["arguments"]
    digest = digest_of(operation, args)
    show(executor, operation, args)
    if not typed_the_code(operation):
        print("Nothing was sent; the call still waits.")
        return None, REFUSED
    held.use_up(folder, one)
    outcome = execute(executor, operation.name, args, Caller("person", approved=digest))
    return outcome.envelope, exit_code(outcome)


def operation_of(executor: Executor, one: Held) -> Operation:
    """The operation, if the bundle still has the contract that the call was held under. Raises HeldError."""
    operation = executor.bundle.by_name.get(one.data["tool"])
    if operation is None or any(one.data[key] != value for key, value in about(executor, operation).items()):
        raise HeldError("the call was held under another contract than this bundle's: have it made again.")
    if not operation.confirmation.human_approval:
        raise HeldError("the call needs no person's approval: use `call`.")
    return operation


def digest_of(operation: Operation, args: dict[str, Any]) -> str:
    try:
        return argument_digest(operation, args)
    except ValueError as error:
        raise HeldError(f"{error}. Nothing was sent.") from None


def show(executor: Executor, operation: Operation, args: dict[str, Any]) -> None:
    """What would be sent, as the executor plans it, and what the contract says of it. Raises HeldError."""
    preview = executor.bundle.air.preview
    if preview is None:
        raise HeldError("the bundle serves no preview, so that nobody could see what is sent.")
    outcome = execute(executor, preview, {"operation": operation.name, "arguments": args})
    if outcome.refusal:
        raise HeldError(f"it cannot be sent: {escape(outcome.refusal.message)}")
    request = json.dumps(outcome.envelope["request"], indent=2, ensure_ascii=False)
    print(f"{escape(executor.bundle.air.service.title)}: {operation.name}")
    print("\n".join(escape(line) for line in request.split("\n")))
    print(escape(approval_note(operation)))


def typed_the_code(operation: Operation) -> bool:
    """Whether a person types four fresh letters; what was typed before they were shown does not count."""
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    forget_what_was_typed()
    try:
        said = input(f"To send {operation.name} once, type {code} and press Enter; anything else leaves it: ")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
    return secrets.compare_digest(said.encode("utf-8", "surrogatepass"), code.encode())


def forget_what_was_typed() -> None:
    try:
        import termios  # noqa: PLC0415  # not on every system
    except ImportError:
        return
    termios.tcflush(sys.stdin, termios.TCIFLUSH)

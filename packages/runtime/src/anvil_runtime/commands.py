"""What a person can do on a command line: of ``anvil``, and of the launcher that a bundle carries.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from anvil_runtime import allow as allowing
from anvil_runtime import held
from anvil_runtime import trail_reading as reading
from anvil_runtime.asking import escape
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.call import (
    FAILED,
    OK,
    REFUSED,
    USAGE,
    ArgumentFormError,
    Wish,
    call_as_wished,
    executor_of,
    exit_code,
)
from anvil_runtime.state import StateError, StateFolder, folders_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALLOW = "Look at a call that waits for a person, type a code, and send it once. Needs a terminal."
PENDING = "List the calls that wait for a person."
ID_HELP = "What the refusal named, or `pending` lists."
CALL = "Call one operation, with the gates and the refusals of the server."
LOG = "Show what was decided and called, from the trail."
ARG_HELP = "One argument. Text where the operation takes only text, else JSON. May be repeated."
ARGS_HELP = 'All arguments as a JSON object, @FILE, or @- for standard input. "--arg" wins over it.'
DRY_RUN_HELP = "Show the exact request and send nothing."
SINCE_HELP = "Only calls since then: 30m, 2h, 7d, or a time such as 2026-12-01T08:30."
TOOL_HELP = "Only calls of this tool."


def run_call(folder: Path, wish: Wish, state: Path | None, *, as_json: bool) -> int:
    """Make one call and say what came of it. Raises ArgumentFormError."""
    envelope, code = call_as_wished(folder, wish, state)
    return printed(envelope, code, as_json=as_json)


def printed(envelope: dict[str, Any], code: int, *, as_json: bool = False) -> int:
    """Print what came of a call that was made. Where that fails, say so: the call is not undone by it."""
    try:
        if as_json:
            print(json.dumps(envelope, indent=2))
        else:
            tell(envelope)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left fails no more
        print(
            f"anvil: the answer could not be printed ({error.strerror or error}). The call itself was made; "
            "see `log` for what came of it before you make it again.",
            file=sys.stderr,
        )
        return FAILED
    return code


def tell(envelope: dict[str, Any]) -> None:
    """The answer on standard output; on standard error why there is none, or what is wrong with it."""
    error = envelope.get("error")
    if error:
        print(f"{error['message']}\n({error['code']}, trace {error['trace_id']})", file=sys.stderr)
        if "upstream" in error:
            print(shown(error["upstream"].get("body")), file=sys.stderr)
        if envelope.get("near"):
            print(f"Near it: {', '.join(envelope['near'])}.", file=sys.stderr)
    elif envelope.get("sends") is False:
        print(f"{shown(envelope['request'])}\n{envelope['then']}")
    else:
        print(shown(envelope["data"] if "data" in envelope else envelope.get("raw")))
        if envelope.get("replayed"):
            print(
                "This is the first call's answer, under the same key: nothing was sent now.", file=sys.stderr
            )
        for violation in envelope.get("violations", ()):
            print(f"not as the contract has it: {violation}", file=sys.stderr)


def shown(value: Any) -> str:
    return json.dumps(value, indent=2)


def run_log(folders: Sequence[StateFolder], *, start: str | None, tool: str | None, as_json: bool) -> int:
    """Show the calls of these state folders together. ``start``: as ``--since`` takes it. ValueError."""
    begin = reading.since(start) if start else None
    lines: list[reading.Line] = []
    unreadable = 0
    try:
        for folder in folders:
            found, torn = reading.read(folder.path)
            lines += found
            unreadable += torn
    except OSError as error:
        print(f"anvil: {error.filename}: {error.strerror}.", file=sys.stderr)
        return FAILED
    entries = reading.wanted(reading.joined(lines), begin, tool)
    if as_json:
        told = [entry.told() for entry in entries]
        print(json.dumps({"ok": True, "calls": told, "unreadable_lines": unreadable}, indent=2))
        return OK
    print("\n".join(reading.table(entries)) if entries else "No call is recorded.")
    if unreadable:
        print(f"{unreadable} lines could not be read: they were cut short.", file=sys.stderr)
    return OK


def run_pending(folders: Sequence[StateFolder], *, as_json: bool) -> int:
    """List what waits in these state folders; what is too old is removed."""
    try:
        found = [one for folder in folders if folder.path.exists() for one in held.all_held(folder.ready())]
    except StateError as error:
        print(f"anvil: {error}", file=sys.stderr)
        return FAILED
    if as_json:
        told = [{"id": one.id, "bundle": str(one.bundle), **one.about, "age_seconds": round(one.age)}
                for one in found]  # fmt: skip
        print(json.dumps({"ok": True, "pending": told}, indent=2))
    elif not found:
        print("No call waits for a person.")
    else:
        rows = (f"{one.id}  {one.about['operation']}  {allowing.age_text(one.age)} ago  {one.bundle}"
                for one in found)  # fmt: skip
        allowing.say(*map(escape, rows))
    return OK


def run_allow(bundle: Path | None, name: str, state: Path | None) -> int:
    """Have a person read one call and send it. Raises BundleError.

    Without ``bundle``: the one that the call was made of, as its file says. The person is shown which it is.
    """
    try:
        allowing.check_terminal()
        kept = [StateFolder(str(state))] if state else folders_of()
        folder = bundle or held.bundle_of([one.path for one in kept], name)
        outcome = allowing.allow(executor_of(load(folder), None, state), name)
    except (held.HeldError, StateError) as error:
        print(f"anvil: {escape(str(error))}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("anvil: stopped. The log says whether the call was sent.", file=sys.stderr)
        return FAILED
    return printed(outcome.envelope, exit_code(outcome))


def main(bundle: Path, state: Path | None, words: Sequence[str], program: str) -> int:
    """The launcher's commands that need the runtime. ``words``: the command and what follows it."""
    chosen = parser(program).parse_args(words)
    try:
        if chosen.command == "call":
            wish = Wish(chosen.operation, chosen.arg, chosen.args, chosen.dry_run)
            return run_call(bundle, wish, state, as_json=chosen.json)
        if chosen.command == "allow":
            return run_allow(bundle, chosen.id, state)
        kept = StateFolder(str(state)) if state else StateFolder.of(load(bundle).air.service)
        if chosen.command == "pending":
            return run_pending([kept], as_json=chosen.json)
        return run_log([kept], start=chosen.since, tool=chosen.tool, as_json=chosen.json)
    except (ArgumentFormError, ValueError) as error:
        print(f"anvil: {error}", file=sys.stderr)
        return USAGE
    except BundleError as error:
        print(f"anvil: {error}", file=sys.stderr)
        return FAILED


def parser(program: str) -> argparse.ArgumentParser:
    """No flag may be shortened: a misspelled one is refused, and nothing is sent."""
    made = argparse.ArgumentParser(prog=program, allow_abbrev=False)
    commands = made.add_subparsers(dest="command", required=True)
    call = commands.add_parser("call", help=CALL, description=CALL, allow_abbrev=False)
    call.add_argument("operation", metavar="OPERATION", help="A tool's name or an operation's id.")
    call.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=ARG_HELP)
    call.add_argument("--args", metavar="JSON", help=ARGS_HELP)
    call.add_argument("--dry-run", action="store_true", help=DRY_RUN_HELP)
    call.add_argument("--json", action="store_true", help="Print the envelope as JSON.")
    allow = commands.add_parser("allow", help=ALLOW, description=ALLOW, allow_abbrev=False)
    allow.add_argument("id", metavar="ID", help=ID_HELP)
    pending = commands.add_parser("pending", help=PENDING, description=PENDING, allow_abbrev=False)
    pending.add_argument("--json", action="store_true", help="Print the calls as JSON.")
    log = commands.add_parser("log", help=LOG, description=LOG, allow_abbrev=False)
    log.add_argument("--since", metavar="TIME", help=SINCE_HELP)
    log.add_argument("--tool", metavar="TOOL", help=TOOL_HELP)
    log.add_argument("--json", action="store_true", help="Print the calls as JSON.")
    return made

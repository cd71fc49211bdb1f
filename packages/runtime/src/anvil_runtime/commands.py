"""What a person can do on a command line: of ``anvil``, and of the launcher that a bundle carries.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from anvil_runtime import trail_reading as reading
from anvil_runtime.allow import run_allow, run_pending
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.call import FAILED, OK, REFUSED, USAGE, ArgumentFormError, Wish, call_as_wished
from anvil_runtime.held import HeldError
from anvil_runtime.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALLOW = "Look at a call that waits for a person, type a code, and send it once. Needs a terminal."
PENDING = "Show the calls that wait for a person."
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
    if as_json:
        print(json.dumps(envelope, indent=2))
    else:
        tell(envelope)
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


def main(bundle: Path, state: Path | None, words: Sequence[str], program: str) -> int:
    """The launcher's commands that need the runtime. ``words``: the command and what follows it."""
    chosen = parser(program).parse_args(words)
    try:
        if chosen.command == "call":
            wish = Wish(chosen.operation, chosen.arg, chosen.args, chosen.dry_run)
            return run_call(bundle, wish, state, as_json=chosen.json)
        if chosen.command == "allow":
            return allow_and_tell(bundle, state, chosen.id)
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


def allow_and_tell(bundle: Path, state: Path | None, name: str) -> int:
    """Have a person look at one call. Raises BundleError."""
    try:
        envelope, code = run_allow(bundle, state, name)
    except HeldError as error:
        print(f"anvil: {error}", file=sys.stderr)
        return REFUSED
    if envelope is not None:
        tell(envelope)
    return code


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
    allow.add_argument("id", metavar="ID", help="What the refusal named, or `pending` shows.")
    pending = commands.add_parser("pending", help=PENDING, description=PENDING, allow_abbrev=False)
    pending.add_argument("--json", action="store_true", help="Print the calls as JSON.")
    log = commands.add_parser("log", help=LOG, description=LOG, allow_abbrev=False)
    log.add_argument("--since", metavar="TIME", help=SINCE_HELP)
    log.add_argument("--tool", metavar="TOOL", help=TOOL_HELP)
    log.add_argument("--json", action="store_true", help="Print the calls as JSON.")
    return made

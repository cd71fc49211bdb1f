"""``anvil decide``: what a harness's hook would say to a call, and why. Leaves no record and no line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import hookcore
from anvil_generator import errors
from anvil_generator.actions import HARNESS_HELP, bundle_in, harness_of
from anvil_generator.harnesses import core_source

CATALOG = "catalog.json"
CORE = Path("plugin") / "hookcore.py"
OTHER_CORE = "the bundle carries another decision core than this anvil: compile it again to be sure"
HUMAN_HELP = "A person attends the harness and can be asked."


def decide(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    tool: Annotated[
        str, typer.Argument(help="The tool's name, with or without what the harness puts before it.")
    ],
    args: Annotated[str, typer.Argument(help="The call's arguments.", metavar="JSON")],
    harness_id: Annotated[str, typer.Option("--harness", help=HARNESS_HELP)] = ...,  # type: ignore[assignment]
    human: Annotated[bool, typer.Option("--human", help=HUMAN_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")] = False,
) -> None:
    """Say what the hook would: pass, deny or ask, and why. Exit code 3 when it would deny."""
    harness = harness_of(harness_id)
    opened = bundle_in(bundle, harness)
    try:
        call = hookcore.loads(args)
    except (ValueError, RecursionError) as error:
        raise errors.failure("usage", f"is not JSON: {error}", "JSON", usage=True) from None
    name = tool.removeprefix(harness.names(opened.service)["prefix"])
    surface = {"human": human, "how": hookcore.ASK_A_PERSON}
    decision = hookcore.evaluate(str(opened.root / CATALOG), name, call, surface)
    said: dict[str, Any] = {
        "harness": harness.id,
        "tool": name,
        "verb": decision.verb,
        "code": decision.code,
        "reason": decision.reason or decision.context,
        "required": decision.required,
    }
    if not _same_core(opened.root):
        print(f"warning: {OTHER_CORE}", file=sys.stderr)
    if as_json:
        print(json.dumps({"ok": decision.verb != hookcore.DENY, **said}, indent=2))
    else:
        print(f"{said['verb']}  {name}" + (f"  ({said['code']})" if said["code"] else ""))
        print(said["reason"] or "The hook has nothing against the call; the harness asks as it is set up to.")
    if decision.verb == hookcore.DENY:
        raise typer.Exit(errors.REFUSED)


def _same_core(root: Path) -> bool:
    try:
        return (root / CORE).read_bytes() == core_source().read_bytes()
    except OSError:
        return False

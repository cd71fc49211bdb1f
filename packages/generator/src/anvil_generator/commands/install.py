"""``anvil install``: puts a bundle into a harness, with the harness's own commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from anvil_generator import errors
from anvil_generator.actions import (
    CLI_HELP,
    HARNESS_HELP,
    bundle_in,
    harness_of,
    installer_of,
    surroundings,
    told,
)
from anvil_generator.errors import failure
from anvil_shims.installing.bundle_files import Bundle, differing

PREPARE_PATIENCE = 600


def install(
    target: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    harness_id: Annotated[str, typer.Option("--harness", help=HARNESS_HELP)],
    trust: Annotated[bool, typer.Option("--trust", help="Trust the hook as it is shown, unasked.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before installing; trust is still asked for.")
    ] = False,
    prepare: Annotated[
        bool, typer.Option("--prepare/--no-prepare", help="Install the server's packages now.")
    ] = True,
    cli: Annotated[Path | None, typer.Option("--cli", help=CLI_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Install a bundle for this user; what else the harness's configuration holds stays, byte for byte."""
    harness = harness_of(harness_id)
    installer, bundle, where = installer_of(harness), bundle_in(target, harness), surroundings(cli)
    with told():
        _refuse_changed(bundle)
        _agree(installer.plan(bundle, where), yes=yes)
        outcome = installer.install(bundle, where, lambda text: _consent(text, trust=trust))
    if prepare:
        outcome.warnings += _prepare(bundle)
    if as_json:
        facts = {"ok": outcome.guarded, "guarded": outcome.guarded, "harness": harness.id}
        print(json.dumps({**facts, "done": outcome.done, "warnings": outcome.warnings}, indent=2))
    else:
        print("\n".join(outcome.done))
        for warning in outcome.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print(f"`anvil doctor {target} --harness {harness.id}` looks at it all; restart what runs already")
    if not outcome.guarded:
        raise typer.Exit(errors.REFUSED)


def _refuse_changed(bundle: Bundle) -> None:
    wrong = differing(bundle.root, bundle.facts)
    if wrong:
        message = f"is not as it was compiled: {wrong[0]}; compile it again, or get it again"
        raise failure("bundle_changed", message, str(bundle.root))


def _agree(steps: list[str], *, yes: bool) -> None:
    if yes:
        return
    print("This will", *(f"  {step}" for step in steps), sep="\n", file=sys.stderr)
    if not sys.stdin.isatty():
        raise failure(
            "usage", "give --yes, since there is no terminal to ask on", "anvil install", usage=True
        )
    if not _asked("Go on?"):
        raise failure("stopped", "nothing was changed", "anvil install")


def _consent(text: str, *, trust: bool) -> bool:
    """A person's own yes to what is shown whole, or the flag that stands for it."""
    print(text, file=sys.stderr)
    return trust or (sys.stdin.isatty() and _asked("Do you trust it?"))


def _asked(question: str) -> bool:
    print(f"{question} Type yes: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def _prepare(bundle: Bundle) -> list[str]:
    """The server's first start installs its packages; done now, that start is quick."""
    command = ["python3", "-I", "-S", str(bundle.root / "mcp" / "server.py"), "prepare"]
    try:
        done = subprocess.run(
            command,
            cwd=os.path.expanduser("~"),  # noqa: PTH111  # Path.home() raises without one
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PREPARE_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"the server was not prepared: {error}"]
    if done.returncode == 0:
        return []
    said = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return [f"the server was not prepared, so its first start is slow or fails: {said[0]}"]

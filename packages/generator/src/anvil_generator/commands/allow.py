"""``anvil allow`` and ``anvil pending``: calls that wait for a person, and the person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anvil_generator.errors import failure
from anvil_runtime import commands, held
from anvil_runtime.allow import run_pending
from anvil_runtime.approvals import PENDING
from anvil_runtime.bundle import BundleError
from anvil_runtime.held import HeldError
from anvil_runtime.state import StateFolder, folders_of

STATE_HELP = "Where the service's state is kept instead of in your home."


def pending(
    state: Annotated[Path | None, typer.Option("--state", help=STATE_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calls as JSON.")] = False,
) -> None:
    """Show the calls that wait for a person: each for ten minutes."""
    raise typer.Exit(run_pending(_folders(state), as_json=as_json))


def allow(
    name: Annotated[str, typer.Argument(help="What the refusal named, or `pending` shows.", metavar="ID")],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="The bundle; otherwise the one that the call was made of.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help=STATE_HELP)] = None,
) -> None:
    """Look at a call that waits, type a code, and send it once. Needs a terminal; exit code 3 otherwise."""
    try:
        code = commands.allow_and_tell(bundle or _bundle_of(name, state), state and state.absolute(), name)
    except BundleError as error:
        raise failure("not_a_bundle", str(error), name) from None
    raise typer.Exit(code)


def _folders(state: Path | None) -> list[StateFolder]:
    return [StateFolder(str(state.absolute()))] if state else folders_of()


def _bundle_of(name: str, state: Path | None) -> Path:
    """The bundle that the call was made of, as its file says."""
    folders = [folder.path for folder in _folders(state)]
    there = [path for path in folders if (path / PENDING / f"{name}.json").exists()]
    if not there:
        raise failure("no_such_call", "no such call waits for a person; see `anvil pending`", name)
    try:
        return Path(held.read(there[0], name).data["bundle"])
    except HeldError as error:
        raise failure("no_such_call", str(error), name) from None

"""``anvil allow`` and ``anvil pending``: calls that wait for a person, and the person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anvil_generator.commands.call import STATE_HELP
from anvil_generator.commands.log import folders_meant
from anvil_generator.errors import failure
from anvil_runtime import commands
from anvil_runtime.bundle import BundleError


def pending(
    bundle: Annotated[
        Path | None, typer.Argument(help="The bundle's folder; otherwise every service.", metavar="[BUNDLE]")
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", help="A service's id, without a bundle.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help="A state folder to look in instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calls as JSON.")] = False,
) -> None:
    """List the calls that wait for a person, with their ids; what is older than ten minutes is removed."""
    folders = folders_meant(bundle, service, state, "anvil pending")
    raise typer.Exit(commands.run_pending(folders, as_json=as_json))


def allow(
    name: Annotated[str, typer.Argument(help=commands.ID_HELP, metavar="ID")],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="The bundle; otherwise the one that the call was made of.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help=STATE_HELP)] = None,
) -> None:
    """Look at a call that waits, type a code, and send it once. Needs a terminal; exit code 3 otherwise."""
    try:
        code = commands.run_allow(bundle, name, state and state.absolute())
    except BundleError as error:
        raise failure("not_a_bundle", str(error), name) from None
    raise typer.Exit(code)

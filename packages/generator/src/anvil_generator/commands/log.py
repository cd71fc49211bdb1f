"""``anvil log``: what hooks decided and what was called, from the trail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from anvil_core.names import SERVICE_ID
from anvil_generator.errors import failure
from anvil_runtime import commands
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.state import StateFolder, folders_of


def log(
    bundle: Annotated[
        Path | None, typer.Argument(help="The bundle's folder; otherwise every service.", metavar="[BUNDLE]")
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", help="A service's id, without a bundle.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help="A state folder to read instead.")] = None,
    since: Annotated[str | None, typer.Option("--since", help=commands.SINCE_HELP, metavar="TIME")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help=commands.TOOL_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calls as JSON.")] = False,
) -> None:
    """Show what was decided and called: one row a call, what the hook said beside what came of it."""
    folders = folders_meant(bundle, service, state, "anvil log")
    try:
        code = commands.run_log(folders, start=since, tool=tool, as_json=as_json)
    except ValueError as error:
        raise failure("usage", str(error), "--since", usage=True) from None
    raise typer.Exit(code)


def folders_meant(
    bundle: Path | None, service: str | None, state: Path | None, command: str
) -> list[StateFolder]:
    """The state folders of a bundle, of a service or of all; or the one that is named."""
    if (bundle is not None) + (service is not None) + (state is not None) > 1:
        raise failure("usage", "give one of BUNDLE, --service and --state", command, usage=True)
    if state is not None:
        return [StateFolder(str(state.absolute()))]
    if bundle is None:
        if service is not None and not re.fullmatch(SERVICE_ID, service):
            raise failure("usage", f'"{service}" is no service id', "--service", usage=True)
        return folders_of(service)
    try:
        return [StateFolder.of(load(bundle).air.service)]
    except BundleError as error:
        raise failure("not_a_bundle", str(error), str(bundle), usage=True) from None

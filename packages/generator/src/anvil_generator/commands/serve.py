"""``anvil serve``: the MCP server of a bundle over stdio, as its own launcher starts it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anvil_generator.commands.call import STATE_HELP
from anvil_runtime import server


def serve(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    state: Annotated[Path | None, typer.Option("--state", help=STATE_HELP)] = None,
) -> None:
    """Serve a bundle over stdio, in this environment, until standard input ends."""
    raise typer.Exit(server.main(bundle, state and state.absolute()))

"""``anvil call``: one call of a bundle's operation, with the gates and the refusals of its server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anvil_generator.errors import failure
from anvil_runtime import commands
from anvil_runtime.call import ArgumentFormError, Wish

STATE_HELP = "Where the service's state is kept instead of in your home."


def call(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    operation: Annotated[
        str, typer.Argument(help="A tool's name or an operation's id.", metavar="OPERATION")
    ],
    arg: Annotated[
        list[str] | None, typer.Option("--arg", help=commands.ARG_HELP, metavar="NAME=VALUE")
    ] = None,
    args: Annotated[str | None, typer.Option("--args", help=commands.ARGS_HELP, metavar="JSON")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=commands.DRY_RUN_HELP)] = False,
    state: Annotated[Path | None, typer.Option("--state", help=STATE_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the envelope as JSON.")] = False,
) -> None:
    """Call one operation, with the gates and the refusals of the server. Exit code 3 when it is refused."""
    wish = Wish(operation, tuple(arg or ()), args, dry_run)
    try:
        code = commands.run_call(bundle, wish, state and state.absolute(), as_json=as_json)
    except ArgumentFormError as error:
        raise failure("usage", str(error), operation, usage=True) from None
    raise typer.Exit(code)

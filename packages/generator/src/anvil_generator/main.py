"""The ``anvil`` command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused or drifted."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from anvil_generator import errors
from anvil_generator.commands.approve import approve
from anvil_generator.commands.compile import compile_command
from anvil_generator.commands.inspect import inspect

app = typer.Typer(
    name="anvil",
    help="Compiles an API document and a reviewed manifest into a bundle that agent harnesses obey.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("compile")(compile_command)
app.command("approve")(approve)
app.command("inspect")(inspect)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from importlib import metadata  # noqa: PLC0415

        print(metadata.version("anvil-generator"))
        raise typer.Exit


def main() -> None:
    """Run the command line; every failure that can be foreseen is a message and an exit code."""
    as_json = "--json" in sys.argv
    try:
        app()
    except errors.Failed as failed:
        _tell(failed, as_json)
        sys.exit(failed.exit_code)
    except BrokenPipeError:
        sys.exit(errors.FAILED)
    except OSError as error:
        place = error.filename or "a file"
        print(f"anvil: {place}: {error.strerror or error}", file=sys.stderr)
        sys.exit(errors.FAILED)


def _tell(failed: errors.Failed, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"ok": False, "problems": [one.model_dump() for one in failed.problems]}, indent=2))
    else:
        print("\n".join(str(problem) for problem in failed.problems), file=sys.stderr)

"""The ``anvil`` command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused or drifted."""

from __future__ import annotations

import io
import json
import os
import sys
from importlib import metadata
from typing import Annotated

import typer

from anvil_generator import errors
from anvil_generator.commands.allow import allow, pending
from anvil_generator.commands.approve import approve
from anvil_generator.commands.call import call
from anvil_generator.commands.compile import compile_command
from anvil_generator.commands.decide import decide
from anvil_generator.commands.diff import diff
from anvil_generator.commands.doctor import doctor
from anvil_generator.commands.explain import explain
from anvil_generator.commands.inspect import inspect
from anvil_generator.commands.install import install
from anvil_generator.commands.log import log
from anvil_generator.commands.serve import serve
from anvil_generator.commands.uninstall import uninstall
from anvil_generator.commands.verify import verify

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
app.command("explain")(explain)
app.command("diff")(diff)
app.command("install")(install)
app.command("uninstall")(uninstall)
app.command("doctor")(doctor)
app.command("verify")(verify)
app.command("pending")(pending)
app.command("allow")(allow)
app.command("call")(call)
app.command("serve")(serve)
app.command("decide")(decide)
app.command("log")(log)


def show_version(wanted: bool) -> None:
    """Print it and stop, before typer misses a command."""
    if wanted:
        print(metadata.version("anvil-generator"))
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=show_version),
    ] = False,
) -> None:
    del version  # its callback has seen to it


def main() -> None:
    """Run the command line; every failure that can be foreseen is a message and an exit code."""
    as_json = "--json" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a title may hold what the terminal's encoding does not
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except errors.Failed as failed:
        _tell(failed, as_json)
        sys.exit(failed.exit_code)
    except BrokenPipeError:
        # Python flushes at exit once more; what is left has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(errors.FAILED)
    except OSError as error:
        place = str(error.filename or "a file")
        _tell(errors.failure("file", error.strerror or str(error), place), as_json)
        sys.exit(errors.FAILED)
    except SystemExit as end:
        if as_json and end.code == errors.USAGE:  # typer has told the rest on standard error
            _tell(errors.failure("usage", "wrong usage; see --help", "anvil", usage=True), as_json)
        raise


def _tell(failed: errors.Failed, as_json: bool) -> None:
    if as_json:
        problems = [one.model_dump() for one in failed.problems]
        print(json.dumps({"ok": False, "problems": problems}, indent=2))
    else:
        print("\n".join(str(problem) for problem in failed.problems), file=sys.stderr)

"""``anvil uninstall``: undoes what ``anvil install`` did, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

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
from anvil_shims.installing import records
from anvil_shims.installing.actions import Surroundings
from anvil_shims.installing.records import Record


def uninstall(
    target: Annotated[
        str,
        typer.Argument(
            help="The bundle's folder, its service id, or its plugin's name.", metavar="BUNDLE|NAME"
        ),
    ],
    harness_id: Annotated[str, typer.Option("--harness", help=HARNESS_HELP)],
    cli: Annotated[Path | None, typer.Option("--cli", help=CLI_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Take a bundle out of a harness again."""
    harness = harness_of(harness_id)
    installer, where = installer_of(harness), surroundings(cli)
    name = bundle_in(Path(target), harness).service if Path(target).is_dir() else target
    with told():
        config = installer.config(where)
        record = _record(records.find(where, harness.id, name), config, where, target)
        outcome = installer.uninstall(record, where)
    if as_json:
        facts = {"ok": True, "harness": harness.id, "plugin": record.plugin}
        print(json.dumps({**facts, "done": outcome.done, "warnings": outcome.warnings}, indent=2))
        return
    print("\n".join([*outcome.done, f"{config} is as it was before the install, but for later changes"]))
    for warning in outcome.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _record(found: list[Record], config: Path, where: Surroundings, target: str) -> Record:
    here = [record for record in found if Path(record.config) == config]
    if here:
        return here[0]
    if found:
        message = (
            f"was installed into {found[0].config}, and {config} is in use now; name that folder as then"
        )
        raise failure("not_installed", message, target)
    message = (
        f"no install of it is recorded in {records.folder(where)}; what was added by hand is removed by hand"
    )
    raise failure("not_installed", message, target)

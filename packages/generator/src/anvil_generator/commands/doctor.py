"""``anvil doctor``: what keeps a harness from obeying a bundle, each cause told apart."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from anvil_generator import errors
from anvil_generator.actions import (
    CLI_HELP,
    HARNESS_HELP,
    bundle_in,
    doctor_of,
    harness_of,
    surroundings,
    told,
)
from anvil_shims.installing import records
from anvil_shims.installing.actions import Check, Verified
from anvil_shims.installing.bundle_files import Bundle


def doctor(
    target: Annotated[
        Path | None,
        typer.Argument(
            help="The bundle's folder; otherwise every bundle that was installed.", metavar="[BUNDLE]"
        ),
    ] = None,
    harness_id: Annotated[str, typer.Option("--harness", help=HARNESS_HELP)] = ...,  # type: ignore[assignment]
    cli: Annotated[Path | None, typer.Option("--cli", help=CLI_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Look at harness, bundle, hook and server from the folder where the harness is used."""
    harness = harness_of(harness_id)
    looks, where = doctor_of(harness), surroundings(cli)
    with told():
        folders = [target] if target else [Path(one.bundle) for one in records.find(where, harness.id)]
    bundles: list[Bundle | None] = [bundle_in(folder, harness) for folder in folders]
    known = harness.verified
    verified = Verified(known.minimum, known.newest, known.broken)
    failed = 0
    found: list[dict[str, object]] = []
    for bundle in bundles or [None]:
        if not as_json:
            print(f"{harness.title}: {bundle.root if bundle else 'no bundle is installed'}", flush=True)
        with told():
            for check in looks.checks(bundle, where, verified):
                failed += not check.ok
                found.append({"bundle": str(bundle.root) if bundle else None, **asdict(check)})
                if not as_json:
                    print(_line(check), flush=True)
    if as_json:
        print(json.dumps({"ok": not failed, "harness": harness.id, "checks": found}, indent=2))
    else:
        print(f"{failed} of {len(found)} checks failed" if failed else f"all {len(found)} checks are good")
    if failed:
        raise typer.Exit(errors.FAILED)


def _line(check: Check) -> str:
    said = f"{'ok' if check.ok else 'FAILED':8}{check.id}: {check.found}"
    return said if check.ok or not check.next else f"{said}\n        what to do: {check.next}"

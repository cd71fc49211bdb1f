"""``anvil diff``: what differs between two contracts, and whether a person must look before it is used."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anvil_generator import drift, errors
from anvil_generator.compiler import compile_project
from anvil_generator.errors import failure
from anvil_generator.project import open_project
from anvil_runtime.bundle import BundleError, load

if TYPE_CHECKING:
    from anvil_core.air import Air
    from anvil_generator.drift import Change

LONGEST_VALUE = 320
SIDE = "A bundle, a project folder, or an API document."
NO_STATES = "Approvals are not compared: {} is a document alone, without any."


def diff(
    old: Annotated[Path, typer.Argument(help=SIDE, metavar="OLD")],
    new: Annotated[Path, typer.Argument(help=SIDE, metavar="NEW")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the changes as JSON.")] = False,
) -> None:
    """Compare two contracts. Exit code 3 where a change takes a guard away or moves a request."""
    bare = [str(side) for side in (old, new) if side.is_file()]
    found = drift.changes(_contract(old), _contract(new), states=not bare)
    blocking = drift.is_blocking(found)
    if as_json:
        said = {"ok": not blocking, "approvals_compared": not bare, "counts": _counts(found)}
        print(json.dumps({**said, "changes": [vars(change) for change in found]}, indent=2))
    else:
        for change in found:
            print(_line(change))
        if bare:
            print(NO_STATES.format(bare[0]))
        print(", ".join(f"{count} {word}" for word, count in _counts(found).items()))
    if blocking:
        raise typer.Exit(errors.REFUSED)


def _contract(side: Path) -> Air:
    """The contract of a bundle, or of a project or document as it would be compiled now."""
    if not (side / "bundle.json").is_file():
        return compile_project(open_project(side)).air
    try:
        return load(side).air
    except BundleError as error:
        raise failure("not_a_bundle", str(error), str(side)) from None


def _counts(found: list[Change]) -> dict[str, int]:
    by_severity = Counter(change.severity for change in found)
    return {severity: by_severity[severity] for severity in drift.SEVERITIES}


def _line(change: Change) -> str:
    where = f"{change.severity:<8}  {change.operation or 'the service'}: {change.field}"
    if change.change != "changed":
        value = change.new if change.change == "added" else change.old
        return f"{where} {change.change}" + ("" if isinstance(value, dict) else f": {_short(value)}")
    if isinstance(change.old, dict) and isinstance(change.new, dict):
        return f"{where} changed"
    return f"{where} changed: {_short(change.old)} -> {_short(change.new)}"


def _short(value: Any) -> str:
    """As JSON, since a title or a reason may hold what a terminal obeys."""
    text = json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."

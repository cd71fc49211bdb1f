"""What Anvil relies on: `[relies_on]` of a harness's `contract.toml`, {path of a fact: the value wanted}.

The file is read as data from the checkout: the laboratory imports nothing of the other packages.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.contract.record import Record

FILE = "packages/shims/src/anvil_shims/{harness}/contract.toml"
_MISSING = object()


def load(root: Path, harness: str) -> dict[str, Any]:
    relied: dict[str, Any] = _contract(root, harness).get("relies_on", {})
    return relied


def lasting(root: Path, harness: str) -> dict[str, Any]:
    """The same without what only the newest version must say (`newest_only` of `[verified]`)."""
    passing = _contract(root, harness).get("verified", {}).get("newest_only", ())
    return {path: wanted for path, wanted in load(root, harness).items() if path not in passing}


def _contract(root: Path, harness: str) -> dict[str, Any]:
    path = root / FILE.format(harness=harness)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise LabError(f"{path}: {error}") from error


def differing(record: Record, relied: dict[str, Any]) -> list[str]:
    """The paths of the facts that are not as the contract relies on them, sorted."""
    leaves = record.leaves()
    return sorted(path for path, wanted in relied.items() if leaves.get(path, _MISSING) != wanted)


def broken(record: Record, relied: dict[str, Any]) -> list[str]:
    """What the record says otherwise than the contract, one line each; empty when the contract holds."""
    leaves = record.leaves()
    lines = []
    for path in differing(record, relied):
        seen = f"is {leaves[path]!r}" if path in leaves else "is not in the record"
        lines.append(f"{path} {seen}; the contract relies on {relied[path]!r}")
    return lines

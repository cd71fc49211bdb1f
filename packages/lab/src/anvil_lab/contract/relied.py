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
    path = root / FILE.format(harness=harness)
    try:
        contract = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise LabError(f"{path}: {error}") from error
    relied: dict[str, Any] = contract.get("relies_on", {})
    return relied


def broken(record: Record, relied: dict[str, Any]) -> list[str]:
    """What the record says otherwise than the contract, one line each; empty when the contract holds."""
    leaves = record.leaves()
    lines = []
    for path, wanted in sorted(relied.items()):
        seen = leaves.get(path, _MISSING)
        if seen is _MISSING:
            lines.append(f"{path} is not in the record; the contract relies on {wanted!r}")
        elif seen != wanted:
            lines.append(f"{path} is {seen!r}; the contract relies on {wanted!r}")
    return lines

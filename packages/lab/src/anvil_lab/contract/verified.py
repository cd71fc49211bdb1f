"""`verified.json` in a harness's folder: what the records say of its versions, for those who have no records.

`{"minimum": ..., "newest": ..., "broken": {version: [path of a fact, ...]}}`. `broken` has each recorded
version, with the facts that are not as the contract relies on them; from `minimum` to `newest` there is none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anvil_lab.contract import integrity, record, relied
from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.contract.record import Record

FILE = "packages/shims/src/anvil_shims/{harness}/verified.json"


def place(root: Path, harness: str) -> Path:
    return root / FILE.format(harness=harness)


def records(root: Path, harness: str) -> list[Record]:
    """The committed records of a harness, the oldest version first."""
    found = [record.read(path) for path in (root / record.FOLDER / harness).glob("*.json")]
    return sorted(found, key=lambda one: integrity.order(one.version))


def summary(found: list[Record], wanted: dict[str, Any]) -> dict[str, Any]:
    """What `verified.json` says, from the records sorted by version. Of the newest all must hold."""
    broken = {one.version: relied.differing(one, wanted) for one in found}
    if not found or broken[found[-1].version]:
        raise LabError("there is no record in which the contract holds to the end")
    minimum = found[-1].version
    for one in reversed(found):
        if broken[one.version]:
            break
        minimum = one.version
    return {"minimum": minimum, "newest": found[-1].version, "broken": broken}


def text(root: Path, harness: str) -> str:
    said = summary(records(root, harness), relied.lasting(root, harness))
    return json.dumps(said, indent=1) + "\n"

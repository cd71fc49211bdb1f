"""The lock of the carried server, against what the packages declare."""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

import anvil_runtime

RUNTIME = Path(anvil_runtime.__file__).parents[2]
LOCK = (Path(anvil_runtime.__file__).parent / "requirements.lock").read_text(encoding="utf-8")


def declared(package: Path) -> set[str]:
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {line for line in project["dependencies"] if not line.startswith("anvil-")}


def test_the_lock_is_made_from_what_core_and_runtime_declare():
    lines = (RUNTIME / "requirements.in").read_text(encoding="utf-8").splitlines()
    wanted = {line for line in lines if line and not line.startswith("#")}
    assert wanted == declared(RUNTIME) | declared(RUNTIME.parent / "core")


def test_every_requirement_is_pinned_and_hashed_and_no_place_is_named():
    assert "://" not in LOCK
    blocks = re.split(r"\n(?=[a-z])", LOCK.partition("by hand.\n")[2])
    assert len(blocks) > 20
    for block in blocks:
        assert re.match(r"[a-z0-9-]+==[0-9a-z.]+( ; .*)? \\\n    --hash=sha256:[0-9a-f]{64}", block), block
    names = {block.partition("==")[0] for block in blocks}
    assert names >= {re.split(r"[><=]", line)[0] for line in declared(RUNTIME)}

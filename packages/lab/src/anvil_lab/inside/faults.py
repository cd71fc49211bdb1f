"""Breaks an installed bundle, or the path on which its interpreter is found, in one stated way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_lab.inside.place import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_lab.inside.records import FaultKind

CRASH = 'raise RuntimeError("broken on purpose")\n'


def break_bundle(kind: FaultKind, bundles: Iterable[Path], harness: str) -> None:
    """Apply the fault to each folder that may be read as the bundle."""
    for bundle in bundles:
        hook = bundle / "plugin" / harness / "hook.py"
        catalog = bundle / "catalog.json"
        if kind == "catalog-missing":
            catalog.unlink()
        elif kind == "catalog-cut-short":
            os.truncate(catalog, catalog.stat().st_size // 2)
        elif kind == "core-missing":
            (bundle / "plugin" / "hookcore.py").unlink()
        elif kind == "hook-missing":
            hook.unlink()
        elif kind == "hook-crashing":
            hook.write_text(CRASH, encoding="utf-8")
        elif kind == "hook-removed":
            write_json(bundle / "plugin" / harness / "hooks.json", {"hooks": {}})


class RemovablePython:
    """A search path on which every program of the machine is found, and `python3` until `remove`."""

    def __init__(self, folder: Path, search: str) -> None:
        self.link = folder / "first" / "python3"
        programs = folder / "programs"
        for made in (self.link.parent, programs):
            made.mkdir(parents=True)
        found: dict[str, Path] = {}
        for part in search.split(":"):
            for program in sorted(Path(part).glob("*")) if Path(part).is_dir() else []:
                found.setdefault(program.name, program)
        self.link.symlink_to(found["python3"].resolve())
        for name, program in found.items():
            if not name.startswith(("python", "pypy")):
                (programs / name).symlink_to(program)
        self.path = f"{self.link.parent}:{programs}"

    def remove(self) -> None:
        self.link.unlink()

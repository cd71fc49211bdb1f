"""`contracts/<harness>/integrity.lock`: the digest under which each version was first seen.

A version does not change. If npm names another digest for one that is known, that is an error here, whatever
the reason is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil_lab.contract import npm
from anvil_lab.contract.record import FOLDER
from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.pins import HarnessPin

FILE = "integrity.lock"


def place(root: Path, harness: str) -> Path:
    return root / FOLDER / harness / FILE


def read(path: Path) -> dict[str, str]:
    """{version: digest}; a file that is not there knows nothing."""
    if not path.is_file():
        return {}
    known: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        version, digest = line.split()
        if known.setdefault(version, digest) != digest:
            raise LabError(f"{path}: {version} stands there with two digests")
    return known


def write(path: Path, known: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{version} {known[version]}\n" for version in sorted(known, key=order)]
    path.write_text("".join(lines), encoding="utf-8")


def check(known: dict[str, str], pin: HarnessPin) -> None:
    wanted = known.get(pin.version)
    if wanted is not None and wanted != pin.integrity:
        raise LabError(
            f"{pin.package}@{pin.version} is known as {wanted} and now has the digest {pin.integrity}: "
            "the published package was replaced. Nothing was run."
        )


def resolve(pinned: HarnessPin, version: str, known: dict[str, str], *, ask: bool = False) -> HarnessPin:
    """The pin of a version; npm is asked where its digest is not known yet, or where that is wanted."""
    known = {**known}
    check(known, pinned)
    known[pinned.version] = pinned.integrity
    if version in known and not ask:
        return pinned.model_copy(update={"version": version, "integrity": known[version]})
    found = npm.published(pinned, version)
    check(known, found)
    return found


def order(version: str) -> tuple[tuple[int, int | str], ...]:
    parts = version.replace("-", ".").replace("+", ".").split(".")
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts)

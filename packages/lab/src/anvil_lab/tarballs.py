"""Brings a harness's npm tarball, checked against its pin, into the cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_lab.cache import integrity_of
from anvil_lab.errors import LabError, UnavailableError

if TYPE_CHECKING:
    from anvil_lab.pins import HarnessPin


def fetch(pin: HarnessPin, cache: Path) -> Path:
    """The tarball's path; downloaded unless a file with the pinned digest is there already."""
    wanted = cache / pin.tarball_name
    if wanted.is_file() and integrity_of(wanted) == pin.integrity:
        return wanted
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError(f"npm is not on PATH: it is needed once, to fetch {pin.tarball_name}")
    # npm keeps a copy of what it downloads; a throwaway cache avoids 190 MB being kept twice.
    with tempfile.TemporaryDirectory(dir=cache, prefix="npm-") as name:
        folder = Path(name)
        spec = f"{pin.package}@{pin.published}"
        command = [npm, "pack", spec, "--ignore-scripts", "--silent"]
        command += ["--pack-destination", name, "--cache", str(folder / "cache")]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
        if done.returncode != 0:
            raise LabError(f"npm pack {spec} failed: {(done.stderr or done.stdout).strip()[-400:]}")
        found = next(folder.glob("*.tgz"))
        got = integrity_of(found)
        if got != pin.integrity:
            raise LabError(f"{spec}: its digest is {got}, the pin says {pin.integrity}; nothing was kept")
        found.replace(wanted)
    return wanted

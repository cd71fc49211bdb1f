"""The real programs of the harnesses, as pinned, cut off from every network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from anvil_lab import cache, pins, tarballs

ROOT = Path(__file__).parents[2]
FLAG = "ANVIL_REAL_PROGRAMS"  # a folder for them; set by `nox -s doctor-real`
# A closed port answers at once; without it each command waits for a network that is not there.
ENVIRON = {"claude": "ANTHROPIC_BASE_URL=http://127.0.0.1:9 ANTHROPIC_API_KEY=dummy", "codex": ""}


def program(harness: str) -> Path:
    """A wrapper that starts the pinned program without a network."""
    if not os.environ.get(FLAG):
        pytest.skip("needs the real programs: `nox -s doctor-real` brings them")
    folder = Path(os.environ[FLAG]).resolve()
    wrapper = folder / "bin" / harness
    offline = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if shutil.which("unshare") is None or subprocess.call([*offline, "true"]) != 0:
        pytest.fail(
            f"`{' '.join(offline)}` does not work here: it cuts the programs off from the network; "
            "run as root, or allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    binary = unpacked(harness, folder)
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    up = 'ip link set lo up 2>/dev/null; exec "$0" "$@"'
    text = f"#!/bin/sh\n{ENVIRON[harness]} exec {' '.join(offline)} sh -c '{up}' {binary} \"$@\"\n"
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper


def unpacked(harness: str, folder: Path) -> Path:
    pin = pins.load(ROOT / "harness-images").of(harness)
    place = folder / harness / pin.version
    if not (place / pin.binary).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        tarball = tarballs.fetch(pin, folder)
        assert cache.integrity_of(tarball) == pin.integrity
        with tarfile.open(tarball) as archive:
            archive.extractall(place, filter="data")
    return place / pin.binary

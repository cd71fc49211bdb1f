"""Puts a version's program under the image's: the tarball unpacked, to be mounted over the pinned one."""

from __future__ import annotations

import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_lab import cache, tarballs
from anvil_lab.container import Mount
from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_lab.pins import HarnessPin


@contextmanager
def mounted(harness: str, pin: HarnessPin) -> Iterator[list[Mount]]:
    """The mount for a version that is not the image's own; what was unpacked is removed at the end."""
    folder = cache.cache_dir()
    tarball = tarballs.fetch(pin, folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix="unpacked-") as name:
        Path(name).chmod(0o755)  # the container's user reads it
        with tarfile.open(tarball) as archive:
            archive.extractall(name, filter="data")
        program = Path(name, pin.binary)
        if not program.is_file():
            raise LabError(f"{pin.package}@{pin.version} has no {pin.binary}")
        program.chmod(0o755)
        yield [Mount(name, f"/opt/{harness}")]

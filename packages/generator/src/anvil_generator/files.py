"""Writing so that nothing is ever half written: to a temporary name beside the target, then rename."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY_MODE = 0o755


def write_file(path: Path, data: bytes) -> None:
    """Replace or make one file, whole or not at all. Follows no symlink at the target. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_tree(target: Path, files: Mapping[str, bytes]) -> None:
    """Replace or make a whole folder, whole or not at all; the old one stays until the new one is there."""
    target = Path(os.path.abspath(target))  # noqa: PTH100  # not resolve(): a link above it is the user's
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new."))
    try:
        for relative, data in files.items():
            file = fresh / relative
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(0o644)
        for folder in (fresh, *(path for path in fresh.rglob("*") if path.is_dir())):
            folder.chmod(DIRECTORY_MODE)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    if _exchange(fresh, target):  # what was the target now has the temporary name, and is removed there
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old.")) / "tree"
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        old.rename(target)
        raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step, so that a kill in between leaves either tree; False where it cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # an old C library
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE: linux/fcntl.h, linux/fs.h
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)

"""The folder for downloads, and the digests by which they are known."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash


def cache_dir() -> Path:
    """`ANVIL_LAB_CACHE`, else `~/.cache/anvil-lab`; made if it is not there."""
    folder = Path(os.environ.get("ANVIL_LAB_CACHE") or Path.home() / ".cache" / "anvil-lab")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _feed(digest: _Hash, path: Path) -> _Hash:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest


def sha256_of(path: Path) -> str:
    return _feed(hashlib.sha256(), path).hexdigest()


def integrity_of(path: Path) -> str:
    """Digest in npm's spelling: `sha512-<base64>`."""
    return "sha512-" + base64.b64encode(_feed(hashlib.sha512(), path).digest()).decode("ascii")

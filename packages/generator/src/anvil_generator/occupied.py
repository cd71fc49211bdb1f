"""Whether a folder may be replaced by a bundle: only what a compile wrote may go, never a user's file."""

from __future__ import annotations

import hashlib
import json
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MARKER = "bundle.json"
FACTS = frozenset({"anvil", "compiler", "service", "version", "revision", "harnesses", "files"})
LARGEST_MARKER = 16_000_000

# What Python and pytest leave behind in a bundle, and nothing else of these folders.
PYTEST_FILES = frozenset(
    {
        *(f".pytest_cache/{name}" for name in (".gitignore", "CACHEDIR.TAG", "README.md")),
        *(f".pytest_cache/v/cache/{name}" for name in ("lastfailed", "nodeids", "stepwise")),
    }
)


def foreign(folder: Path) -> str | None:
    """Why the folder may not be replaced: the first thing in it that no compile wrote, or None."""
    digests = _digests(folder / MARKER)
    if not digests:
        return None if not any(folder.iterdir()) else "what no compile wrote"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        plain = stat.S_ISREG(mode)
        cached = name in PYTEST_FILES or (path.parent.name == "__pycache__" and path.suffix == ".pyc")
        if plain and (cached or name == MARKER):
            continue
        if not plain or name not in digests:
            return f"{name}, which no compile wrote"
        if hashlib.sha256(path.read_bytes()).hexdigest() != digests[name]:
            return f"{name}, which was changed after a compile wrote it"
    return None


def _digests(marker: Path) -> dict[str, str]:
    """The files of the bundle in a folder, as it lists them itself; none when it is not a bundle."""
    try:
        about = marker.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_MARKER:
            return {}
        facts = json.loads(marker.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(facts, dict) or facts.keys() != FACTS or not isinstance(facts["files"], dict):
        return {}
    return {name: digest for name, digest in facts["files"].items() if isinstance(digest, str)}

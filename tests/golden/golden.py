"""Compares a compiled bundle with the one that was reviewed: ``golden.py check|update BUNDLE GOLDEN``.

The golden tree holds rendered and dumped files as they are. Files that are copied from the source tree
(everything under mcp/ but ``clients.json``, and Python under plugin/ and tests/) would only repeat it:
their digests stand in ``copied.sha256``. ``check`` prints what differs and ends with 1.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import shutil
import sys
from pathlib import Path

COPIED = "copied.sha256"
DUMPED = "mcp/clients.json"
LONGEST_DIFF = 60


def is_copied(path: str) -> bool:
    if path == DUMPED:
        return False
    return path.startswith("mcp/") or (path.startswith(("plugin/", "tests/")) and path.endswith(".py"))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def expected_golden(bundle: Path) -> dict[str, bytes]:
    """What the golden tree of this bundle holds."""
    files = tree(bundle)
    kept = {path: data for path, data in files.items() if not is_copied(path)}
    if COPIED in kept:
        raise ValueError(f"the bundle has a file {COPIED} of its own")
    lines = [
        f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files) if is_copied(path)
    ]
    return {**kept, COPIED: "".join(lines).encode("utf-8")}


def differences(bundle: Path, golden: Path) -> list[str]:
    """What differs, in text to print; empty when nothing does."""
    wanted, got = tree(golden), expected_golden(bundle)
    said = [f"missing in the bundle: {path}" for path in sorted(wanted.keys() - got.keys())]
    said += [f"new in the bundle: {path}" for path in sorted(got.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & got.keys()):
        if wanted[path] != got[path]:
            said.append(diff(path, wanted[path], got[path]))
    return said


def diff(path: str, old: bytes, new: bytes) -> str:
    """A unified diff; one that shows the bytes where the text is the same."""
    before, after = old.decode("utf-8", "replace"), new.decode("utf-8", "replace")
    names = (f"golden/{path}", f"bundle/{path}")
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm=""))
    if not lines:
        return f"--- {names[0]}\n+++ {names[1]}\nonly line ends or unreadable bytes differ"
    more = [f"... {len(lines) - LONGEST_DIFF} more lines"] if len(lines) > LONGEST_DIFF else []
    return "\n".join([*lines[:LONGEST_DIFF], *more])


def update(bundle: Path, golden: Path) -> None:
    """Make the golden tree anew, so that no file of an earlier one stays."""
    files = expected_golden(bundle)
    if golden.exists():
        shutil.rmtree(golden)
    for path, data in files.items():
        target = golden / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=("check", "update"))
    parser.add_argument("bundle", type=Path)
    parser.add_argument("golden", type=Path)
    chosen = parser.parse_args(arguments)
    if not (chosen.bundle / "bundle.json").is_file():
        print(f"{chosen.bundle} is not a bundle: it has no bundle.json. Run nox -s generate first.")
        return 1
    if chosen.action == "update":
        update(chosen.bundle, chosen.golden)
        return 0
    found = differences(chosen.bundle, chosen.golden)
    if found:
        print("\n".join(found))
        print(f"\n{chosen.bundle} differs from {chosen.golden}.")
        print("If that is meant: nox -s generate -- --update-golden")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

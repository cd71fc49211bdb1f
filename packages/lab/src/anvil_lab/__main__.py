"""The laboratory's own commands.

python -m anvil_lab images [HARNESS ...]      build the images, or say that they are current
python -m anvil_lab wheelhouse check|update   compare the wheel lock with the requirements, or renew it
python -m anvil_lab clean [--all]             remove what is no longer pinned (or everything of ours)
"""

from __future__ import annotations

import sys
from pathlib import Path

from anvil_lab import cache, clean, engine, lab, pins, wheelhouse
from anvil_lab.errors import LabError

REQUIREMENTS = Path("packages/runtime/src/anvil_runtime/requirements.lock")


def main(arguments: list[str]) -> int:
    try:
        folder = pins.find_images()
        match arguments:
            case ["images", *harnesses]:
                return _images(folder, harnesses)
            case ["wheelhouse", "check" | "update" as verb]:
                return _wheelhouse(folder, verb)
            case ["clean", *rest] if rest in ([], ["--all"]):
                return _clean(folder, everything=bool(rest))
    except LabError as error:
        print(f"anvil_lab: {error}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


def _images(folder: Path, harnesses: list[str]) -> int:
    for harness in harnesses or sorted(pins.load(folder).harness):
        print(f"{harness}: {lab.start(harness, folder).image}")
    return 0


def _wheelhouse(folder: Path, verb: str) -> int:
    requirements = (folder.parent / REQUIREMENTS).read_text(encoding="utf-8")
    path = folder / wheelhouse.FILE
    if verb == "update":
        lock = wheelhouse.update(path, requirements, cache.cache_dir())
        print(f"{path.name}: {len(lock.wheels)} wheels")
        return 0
    found = wheelhouse.problems(wheelhouse.read_lock(path), requirements)
    print("\n".join(found) or "the wheel lock fits the requirements")
    return 1 if found else 0


def _clean(folder: Path, *, everything: bool) -> int:
    pinned = pins.load(folder)
    lock = wheelhouse.read_lock(folder / wheelhouse.FILE)
    removed = clean.cache(cache.cache_dir(), pinned, lock, everything=everything)
    removed += clean.engine(engine.connect(), pinned, everything=everything)
    print("\n".join(removed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

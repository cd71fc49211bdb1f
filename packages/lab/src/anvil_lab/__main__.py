"""The laboratory's own commands.

python -m anvil_lab image HARNESS             build the image (or say that it is there)
python -m anvil_lab wheelhouse check|update   compare the wheel lock with the requirements, or renew it
python -m anvil_lab clean [--all]             remove what is no longer pinned (or everything of ours)
"""

from __future__ import annotations

import sys
from pathlib import Path

from anvil_lab import base, cache, clean, engine, images, pins, wheelhouse
from anvil_lab.errors import LabError

REQUIREMENTS = Path("packages/runtime/src/anvil_runtime/requirements.lock")


def main(arguments: list[str]) -> int:
    try:
        folder = pins.find_images()
        match arguments:
            case ["image", harness]:
                return _image(folder, harness)
            case ["wheelhouse", "check" | "update" as verb]:
                return _wheelhouse(folder, verb)
            case ["clean", *rest] if rest in ([], ["--all"]):
                return _clean(folder, everything=bool(rest))
    except LabError as error:
        print(f"anvil_lab: {error}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


def _image(folder: Path, harness: str) -> int:
    pinned = pins.load(folder)
    client = engine.connect()
    start = base.ensure(client, pinned.base, cache.cache_dir())
    recipe = images.Recipe(harness, pinned.of(harness), start, folder, cache.cache_dir())
    print(images.ensure(client, recipe))
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

"""The limits on the size of modules, templates and hooks: prints what is over one, and ends with 1.

A run of ``nox -s lint``. Lines are counted as ``wc -l`` does; for hooks, what a reviewer reads by eye: the
lines that are not blank.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

MODULES = (
    "packages/*/src/**/*.py",
    "harness-images/**/*.py",
    "harness-images/**/*.sh",
    "harness-images/**/Dockerfile*",
)
LONGEST_MODULE = 500
MEDIAN_MODULE = 120
LONGEST_TEMPLATE = 120
LONGEST_HOOK = 400  # a harness's hook and the decision core: what a reviewer reads by eye


def count(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def count_read(path: Path) -> int:
    """Lines with something on them."""
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def too_large(root: Path) -> list[str]:
    """What is over a limit, one line each."""
    modules = [path for pattern in MODULES for path in root.glob(pattern)]
    sizes = {path: count(path) for path in sorted(modules)}
    if not sizes:
        return [f"{root}: no module found"]
    found = [
        f"{path.relative_to(root)}: {size} lines, at most {LONGEST_MODULE}"
        for path, size in sizes.items()
        if size > LONGEST_MODULE
    ]
    median = statistics.median(sizes.values())
    if median > MEDIAN_MODULE:
        found.append(f"the median of {len(sizes)} modules is {median} lines, at most {MEDIAN_MODULE}")
    found += [
        f"{path.relative_to(root)}: {count(path)} lines, at most {LONGEST_TEMPLATE}"
        for path in sorted(root.glob("packages/*/src/**/*.j2"))
        if count(path) > LONGEST_TEMPLATE
    ]
    core = count_read(root / "packages" / "core" / "src" / "hookcore.py")
    for hook in sorted(root.glob("packages/shims/src/anvil_shims/*/hook.py")):
        if core + count_read(hook) > LONGEST_HOOK:
            both = f"{hook.relative_to(root)} ({count_read(hook)}) and hookcore.py ({core})"
            found.append(f"{both}: {core + count_read(hook)} lines together, at most {LONGEST_HOOK}")
    return found


def main() -> int:
    found = too_large(Path(__file__).resolve().parents[2])
    print("\n".join(found) if found else "Modules, templates and hooks are within their limits.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""One compile as a user runs it: a process of its own, its time, its memory, and what it wrote.

As a program it runs the command that it is given and prints what that cost. A process counts the memory of
the one that started it as its own, so this small one stands in between.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What the whole process took, by the clock and of the processor, and its peak memory.

    ``size`` and ``digest`` are of the bundle's files.
    """

    seconds: float
    processor: float
    megabytes: float
    size: int
    digest: str


def compile_bundle(target: Path, out: Path, seed: int = 0) -> Cost:
    """Compile with the hashes of Python in another order for each seed; SystemExit where it fails."""
    command = (sys.executable, "-m", "anvil_generator", "compile", str(target), "--out", str(out))
    return Cost(*run(*command, PYTHONHASHSEED=str(seed)), *_tree(out))


def run(*command: str, **environ: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and megabytes of a command; SystemExit where it fails."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", __file__, *command],
        env={**os.environ, **environ},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    seconds, processor, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, processor, megabytes


def _tree(folder: Path) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        data = path.read_bytes()
        size += len(data)
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return size, digest.hexdigest()


def main() -> int:
    began = time.perf_counter()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())

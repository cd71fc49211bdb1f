#!/usr/bin/env python3
"""Runs nox, after making a private environment for it: ``python3 bootstrap.py -s generate``.

Needs Python 3.11 or newer with pip and nothing else: Debian's own pip refuses to install into the
system, and its Python has no ensurepip, so the environment is made without pip and filled from outside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".bootstrap"
REQUIREMENTS = ROOT / "requirements-nox.txt"


def main() -> int:
    if sys.version_info < (3, 11):
        print(f"Anvil is built with Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    python = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    marker = HOME / "requirements-nox.txt"
    if not (python.exists() and marker.exists() and marker.read_text(encoding="utf-8") == wanted):
        make_environment(python)
        marker.write_text(wanted, encoding="utf-8")
    return subprocess.call([python, "-m", "nox", *sys.argv[1:]], cwd=ROOT)


def make_environment(python: Path) -> None:
    print("bootstrap: making an environment for nox", file=sys.stderr)
    run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(HOME)], "make a virtual environment")
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--requirement", str(REQUIREMENTS)]
    run([sys.executable, *install], "install nox with pip (is pip there? is the network?)")


def run(command: list[str], purpose: str) -> None:
    if subprocess.call(command) != 0:
        raise SystemExit(f"bootstrap: could not {purpose}: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())

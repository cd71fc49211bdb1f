"""Finding and running a harness's own command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_shims.installing.actions import ActionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_shims.installing.actions import Surroundings

PATIENCE = 120


def find(name: str, where: Surroundings) -> Path:
    """The program: the one that was given, or the first of that name on PATH."""
    if where.cli is not None:
        given = Path(os.path.abspath(where.cli))  # noqa: PTH100  # a wrapper keeps its own name
        if given.is_file() and os.access(given, os.X_OK):
            return given
        message = "is not a program that can be run; give --cli the harness's own program"
        raise ActionError("cli_not_found", message, str(where.cli))
    found = shutil.which(name, path=where.environ.get("PATH", os.defpath))
    if found is None:
        message = "is not on PATH; install it, or say where it is with --cli"
        raise ActionError("cli_not_found", message, name)
    return Path(found)


def output(command: Sequence[object], where: Surroundings, *, cwd: Path | None = None) -> str:
    """What the command prints; raises ActionError with its last words when it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            env=dict(where.environ),
            cwd=cwd or where.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except OSError as error:
        raise ActionError("command_failed", f"did not start: {error.strerror}", words[0]) from None
    except subprocess.TimeoutExpired:
        message = f"did not end within {PATIENCE} s: {' '.join(words[1:])}"
        raise ActionError("command_failed", message, words[0]) from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-600:]
        message = f"`{' '.join(words[1:])}` ended with {done.returncode}: {said}"
        raise ActionError("command_failed", message, words[0])
    return done.stdout


def version(program: Path, where: Surroundings) -> str:
    """The version that ``--version`` prints."""
    said = output([program, "--version"], where)
    match = re.search(r"\d+\.\d+\.\d+[^\s)]*", said)
    if match is None:
        raise ActionError("version_unknown", f"--version says {said.strip()!r}", str(program))
    return match.group()


def numbers(said: str) -> tuple[int, ...]:
    """A version to compare with; what stands after the three numbers is left out."""
    return tuple(int(part) for part in re.findall(r"\d+", said)[:3])

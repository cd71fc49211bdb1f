"""``anvil verify``: run the proof that a bundle carries, against its own server and hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from anvil_generator import errors

PROOF = Path("tests") / "test_conformance.py"


def verify(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    calls: Annotated[int, typer.Option(min=1, help="How many calls are generated.")] = 80,
    cache: Annotated[
        Path | None, typer.Option(help="Where the server's packages are, as its own --cache says.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Check the bundle's files, its served tools, and that its hooks and its server refuse the same calls."""
    proof = bundle / PROOF
    if not proof.is_file():
        message = "there is no proof in this folder: it is no bundle, or was compiled by an older Anvil"
        raise errors.failure("not_a_bundle", message, str(proof), usage=True)
    command = [sys.executable, "-I", "-B", str(proof.resolve()), "--calls", str(calls)]
    command += ["--cache", str(cache.resolve())] if cache else []
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as running:
        assert running.stdout
        for line in running.stdout:
            lines.append(line.rstrip("\n"))
            if not as_json:
                print(lines[-1], flush=True)
    if as_json:
        print(json.dumps({"ok": running.returncode == 0, "checks": _checks(lines)}, indent=2))
    if running.returncode:
        raise typer.Exit(errors.FAILED)


def _checks(lines: list[str]) -> list[dict[str, object]]:
    """One for each line of the proof: ``ok`` or ``FAILED``, a title, and after a colon what was found."""
    found: list[dict[str, object]] = []
    for line in lines:
        verdict, _, rest = line.partition(" ")
        if verdict in ("ok", "FAILED"):
            title, _, detail = rest.strip().partition(": ")
            found.append({"check": title, "ok": verdict == "ok", "found": detail})
        elif found:
            found[-1]["found"] = f"{found[-1]['found']}\n{line}"
    return found

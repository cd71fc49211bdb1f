"""What install, uninstall and doctor share: which harness is meant, where it runs, how it fails."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_generator import harnesses
from anvil_generator.errors import failure
from anvil_shims.installing.actions import ActionError, Surroundings
from anvil_shims.installing.bundle_files import Bundle, open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_generator.harnesses import Harness
    from anvil_shims.installing.actions import Doctor, Installer

HARNESS_HELP = "The harness's id."
CLI_HELP = "The harness's own program, when it is not the one on PATH."


def harness_of(name: str) -> Harness:
    for harness in harnesses.known():
        if harness.id == name:
            return harness
    known = ", ".join(harness.id for harness in harnesses.known())
    raise failure("unknown_harness", f"takes one of {known}", "--harness", usage=True)


def installer_of(harness: Harness) -> Installer:
    installer = harness.installer()
    if installer is None:
        message = f"{harness.title} has no install of its own; the bundle's README says how to add it by hand"
        raise failure("not_installable", message, "--harness", usage=True)
    return installer


def doctor_of(harness: Harness) -> Doctor:
    doctor = harness.doctor()
    if doctor is None:
        message = f"{harness.title} has no doctor; the bundle's README says how to look by hand"
        raise failure("no_doctor", message, "--harness", usage=True)
    return doctor


def surroundings(cli: Path | None) -> Surroundings:
    return Surroundings(environ=dict(os.environ), cwd=Path.cwd(), cli=cli)


def bundle_in(folder: Path, harness: Harness) -> Bundle:
    with told():
        return open_bundle(folder, harness.id)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """An action that could not be done ends the command as every failure does."""
    try:
        yield
    except ActionError as error:
        raise failure(error.code, error.message, error.file, error.line) from None

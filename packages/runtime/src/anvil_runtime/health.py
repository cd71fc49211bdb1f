"""What keeps a bundle's server from its work on this machine, for the launcher's ``doctor``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anvil_runtime.execute import Executor
from anvil_runtime.origin import OriginError, target
from anvil_runtime.state import StateError, StateFolder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anvil_runtime.bundle import Bundle


class TroubleError(Exception):
    """The text says what is missing, and what to do."""


def state_folder(bundle: Bundle, state: Path | None) -> str:
    """The folder of approvals, ledger and trail, made now where it is missing. Raises TroubleError."""
    kept = StateFolder(str(state)) if state else StateFolder.of(bundle.air.service)
    try:
        folder = kept.ready()
    except StateError as error:
        raise TroubleError(str(error)) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TroubleError(f"{folder} cannot be written to, so that no mutation is sent.")
    return str(folder)


def credentials(bundle: Bundle, environ: Mapping[str, str] | None = None) -> str:
    """Which credentials approved operations lack, by the names of their variables. Raises TroubleError."""
    executor = Executor(bundle) if environ is None else Executor(bundle, environ=environ)
    try:
        goal = target(bundle.air.service, executor.environ)
    except OriginError as error:
        raise TroubleError(str(error)) from None
    asking = [operation for operation in bundle.served if operation.auth]
    lacking = {operation.name: executor.credentials.lacking(operation, goal) for operation in asking}
    said = sorted({text for text in lacking.values() if text})
    if said:
        without = sum(text is not None for text in lacking.values())
        raise TroubleError(f"{without} of {len(bundle.served)} operations cannot be called: {' '.join(said)}")
    return f"{len(asking)} of {len(bundle.served)} operations ask for one, and each has it"

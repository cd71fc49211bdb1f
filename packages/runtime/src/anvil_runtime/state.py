"""The folder in which a service's approvals, ledger and trail are kept on this machine.

The decision core finds it, so that a hook and the executor look in the same place; design section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hookcore  # type: ignore[import-untyped,unused-ignore]
from anvil_core.names import state_name

if TYPE_CHECKING:
    from anvil_core.air import Service


class StateError(Exception):
    """The folder cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class StateFolder:
    """``name`` is the folder's name below the user's own state, or a whole path."""

    name: str

    @classmethod
    def of(cls, service: Service) -> StateFolder:
        return cls(state_name(service.id, str(service.origin)))

    def ready(self) -> Path:
        """The folder, made where it is missing, and checked each time. Raises StateError."""
        try:
            return Path(hookcore.state_folder(self.name))  # type: ignore[no-untyped-call,unused-ignore]
        except OSError as error:
            raise StateError(str(error)) from None

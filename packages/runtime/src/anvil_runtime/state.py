"""The folder in which a service's approvals, ledger and trail are kept on this machine.

The decision core finds it, so that a hook and the executor look in the same place; design section 8.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hookcore  # type: ignore[import-untyped,unused-ignore]
from anvil_core.names import SERVICE_ID, STATE_HASH_LENGTH, state_name

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

    @property
    def path(self) -> Path:
        """Where it is, there or not: the same as the decision core's, which makes it."""
        return Path(self.name) if self.name.startswith("/") else services_folder() / self.name

    def ready(self) -> Path:
        """The folder, made where it is missing, and checked each time. Raises StateError."""
        try:
            return Path(hookcore.state_folder(self.name))  # type: ignore[no-untyped-call,unused-ignore]
        except OSError as error:
            raise StateError(str(error)) from None


def services_folder() -> Path:
    """What holds the folders of all services."""
    try:
        import pwd  # noqa: PLC0415  # not on every system

        home = pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        home = os.environ.get("HOME", "")
    return Path(home, ".local", "state", "anvil")


def folders_of(service_id: str | None = None) -> list[StateFolder]:
    """The folders that are there, of one service (one for each origin it had) or of all, sorted."""
    form = re.compile(f"{service_id or SERVICE_ID}-[0-9a-f]{{{STATE_HASH_LENGTH}}}")
    try:
        names = [path.name for path in services_folder().iterdir()]
    except OSError:
        return []
    return [StateFolder(name) for name in sorted(names) if form.fullmatch(name)]

"""What the MCP clients of the known harnesses say of themselves, and what their answers mean, as data.

The generator writes ``mcp/clients.json`` from the ``[client]`` tables of the harnesses' contract.toml; the
server reads it, and names no harness. All that a client says of itself is its own word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from anvil_core.air import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

Meaning = Literal["person", "not_asked", "not_approved", "unknown"]
"""Of an answer that is no acceptance: a person said no; nobody could be asked; nobody approved, by a
person's hand or without one; or it cannot be told: it was declined or never shown."""
Proof = Literal["tool_meta", "form", "nothing"]
"""What makes the harness ask a person: metadata on a tool, which it asks about itself; a form with a code
in it, which only a person at the terminal can read; or nothing that we know."""


class Unattended(Frozen):
    """A sign in a call's ``_meta`` that no person attends: ``_meta[meta][field]`` is one of ``values``."""

    meta: str
    field: str
    values: tuple[str, ...]

    def fits(self, meta: Mapping[str, Any]) -> bool:
        """Whether the call bears the sign."""
        part = meta.get(self.meta)
        return isinstance(part, dict) and part.get(self.field) in self.values


class Client(Frozen):
    """One harness's MCP client, from the version ``minimum`` on, on which its facts were measured.

    ``call_id``: the keys of a call's ``_meta`` that may hold the harness's own id of the call, in order.
    ``tool_meta``: what to put into the ``_meta`` of the tools that need a person; ``no_record``: what the
    user can do where its hook did not see such a call.
    """

    harness: str
    title: str
    name: str
    minimum: str
    call_id: tuple[str, ...] = ()
    decline: Meaning = "unknown"
    cancel: Meaning = "unknown"
    proof: Proof = "nothing"
    tool_meta: dict[str, Any] = Field(default_factory=dict)
    no_record: str = ""
    unattended: tuple[Unattended, ...] = ()

    def is_unattended(self, meta: Mapping[str, Any]) -> bool:
        """Whether the call says that nobody attends; that it does not say so proves nothing."""
        return any(sign.fits(meta) for sign in self.unattended)


class Clients(Frozen):
    """The file ``mcp/clients.json``."""

    anvil: Literal[1] = 1
    clients: tuple[Client, ...] = ()

    def find(self, name: str | None, version: str | None) -> Client | None:
        """The client of this name, in a version that our facts hold for; None for every other."""
        for client in self.clients:
            if client.name == name and is_at_least(version, client.minimum):
                return client
        return None

    def call_id(self, meta: Mapping[str, Any]) -> str | None:
        """The harness's own id of a call, under the first key that any known client uses."""
        for key in (key for client in self.clients for key in client.call_id):
            value = meta.get(key)
            if isinstance(value, str) and value:
                return value
        return None


def is_at_least(version: str | None, minimum: str) -> bool:
    """Compare versions of three numbers. A version of another form, as one before a release, is not."""
    parts = [
        re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text or "", re.ASCII) for text in (version, minimum)
    ]
    if not all(parts):
        return False
    given, floor = ([int(number) for number in part.groups()] for part in parts if part)
    return given >= floor

"""Read the contract that a bundle carries."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import from_json

from anvil_core import air_file, catalog
from anvil_core.clients import Clients
from anvil_runtime.words import MEND

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_core.air import Air, Operation


UNKNOWN = "unknown"


class BundleError(Exception):
    """The bundle cannot be used. The text says what is wrong with which file, and what to do.

    ``problem`` is the first half, for where the other is said anyway.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} {MEND}")
        self.problem = problem


@dataclass(frozen=True)
class Bundle:
    """A contract as the executor uses it. Every operation is in it, whatever its state."""

    air: Air
    compiler: str = UNKNOWN
    """The version of Anvil that compiled it."""
    clients: Clients = field(default_factory=Clients)
    """What is known of the programs that may call: without it, none is known."""
    folder: Path | None = None

    @cached_property
    def by_name(self) -> dict[str, Operation]:
        return {operation.name: operation for operation in self.air.operations}

    @cached_property
    def by_id(self) -> dict[str, Operation]:
        return {operation.id: operation for operation in self.air.operations}

    @cached_property
    def contract_digest(self) -> str:
        """As it stands in the header of the catalog, which the hooks read."""
        return catalog.contract_digest(catalog.lines(self.air))

    @property
    def served(self) -> list[Operation]:
        """The operations that a person approved, in the order of their names."""
        approved = [operation for operation in self.air.operations if operation.state == "approved"]
        return sorted(approved, key=lambda operation: operation.name)


def load(folder: Path) -> Bundle:
    """The bundle in a folder. Raises BundleError."""
    file = folder / "air.json"
    try:
        text = file.read_bytes()
    except OSError as error:
        raise BundleError(f"{file}: {error.strerror}.") from None
    try:
        return Bundle(air_file.read(text), _compiler(folder), _clients(folder), folder)
    except ValidationError as error:
        raise BundleError(f"{file}: {_what_is_wrong(text, error)}") from None


def _compiler(folder: Path) -> str:
    """From the bundle's own list, else from the installed package: a bundle carries none of its metadata."""
    try:
        facts = from_json((folder / "bundle.json").read_bytes())
    except (OSError, ValueError):
        facts = None
    if isinstance(facts, dict) and isinstance(facts.get("compiler"), str):
        return str(facts["compiler"])
    try:
        return metadata.version("anvil-runtime")
    except metadata.PackageNotFoundError:
        return UNKNOWN


def _clients(folder: Path) -> Clients:
    """Those of the bundle. A file that is missing or damaged leaves no client known."""
    file = folder / "mcp" / "clients.json"
    try:
        return Clients.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a list of clients that Anvil wrote"
        print(f"anvil: {file}: {why}. No client counts as known. {MEND}", file=sys.stderr)
        return Clients()


def _what_is_wrong(text: bytes, error: ValidationError) -> str:
    try:
        data = from_json(text)
    except ValueError:
        return "it is not JSON, or is cut short."
    if not isinstance(data, dict) or "anvil" not in data:
        return "it is not a contract that Anvil wrote."
    if data["anvil"] != 1:
        return f"another version of Anvil wrote it: its format is {data['anvil']!r}, this server reads 1."
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "(root)"
    return f"at {place}: {first['msg']}."

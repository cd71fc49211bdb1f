"""Finds the harness folders by name and loads what they hold: the only place that looks into shims.

No harness is named in the generator. A folder of ``anvil_shims`` with a ``contract.toml`` is a harness.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jinja2
import tomllib
from pydantic import Field

import hookcore
from anvil_core.air import Frozen
from anvil_core.clients import Client, Clients

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

    from anvil_shims.installing.actions import Doctor, Installer

CORE_FILE = "hookcore.py"


VERIFIED_FILE = "verified.json"


class Verified(Frozen):
    """The range of the harness's versions in which what we rely on was seen to hold.

    ``broken`` has each version that was recorded, with the facts that are otherwise there.
    """

    minimum: str
    newest: str
    broken: dict[str, tuple[str, ...]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Harness:
    """One harness: its id, what we rely on (the whole contract.toml), and its folder."""

    id: str
    title: str
    verified: Verified
    contract: Mapping[str, Any]
    folder: Traversable

    def names(self, service_id: str) -> dict[str, str]:
        """The names that the harness will show, filled in from ``[names]`` of its contract."""
        filled = {"service": service_id, "service_": service_id.replace("-", "_")}
        for key, form in self.contract["names"].items():
            filled[key] = form.format_map(filled)
        return filled

    def client(self) -> Client | None:
        """Its MCP client, from ``[client]`` of its contract, where it has one."""
        table = self.contract.get("client")
        named = {"harness": self.id, "title": self.title}
        return None if table is None else Client.model_validate({**named, **table})

    def templates(self) -> Iterator[tuple[str, str]]:
        """(path in the bundle, template text), sorted."""
        yield from sorted(_walk(self.folder / "templates", ""))

    def copies(self) -> Iterator[tuple[str, bytes]]:
        """(path in the bundle, bytes) of the files that are copied as they are."""
        for source, target in sorted(self.contract.get("copies", {}).items()):
            file = core_source() if source == CORE_FILE else self.folder / source
            yield target, file.read_bytes()

    def installer(self) -> Installer | None:
        """The harness's install.py, where it has one."""
        return cast("Installer | None", self._module("install"))

    def doctor(self) -> Doctor | None:
        """The harness's doctor.py, where it has one."""
        return cast("Doctor | None", self._module("doctor"))

    def _module(self, name: str) -> object | None:
        if not (self.folder / f"{name}.py").is_file():
            return None
        return importlib.import_module(f"anvil_shims.{self.folder.name}.{name}")


@cache
def known() -> tuple[Harness, ...]:
    """Every harness there is, sorted by id."""
    folders = (folder for folder in resources.files("anvil_shims").iterdir() if folder.is_dir())
    loaded = [_load(folder) for folder in folders if (folder / "contract.toml").is_file()]
    return tuple(sorted(loaded, key=lambda harness: harness.id))


def _load(folder: Traversable) -> Harness:
    contract = tomllib.loads((folder / "contract.toml").read_text(encoding="utf-8"))
    return Harness(
        id=contract["harness"],
        title=contract["title"],
        verified=_verified(folder, contract),
        contract=contract,
        folder=folder,
    )


def clients(chosen: Iterable[Harness]) -> Clients:
    """What the server knows of the clients that may start it: those of these harnesses."""
    found = (harness.client() for harness in chosen)
    return Clients(clients=tuple(client for client in found if client))


def _verified(folder: Traversable, contract: Mapping[str, Any]) -> Verified:
    """From the records where the harness has some (``nox -s docs``), else from its contract."""
    file = folder / VERIFIED_FILE
    if file.is_file():
        return Verified.model_validate_json(file.read_text(encoding="utf-8"))
    return Verified.model_validate(contract["verified"])


def longest_prefixes(service_id: str) -> dict[str, str]:
    """What each harness puts before a tool's name: {harness id: prefix}."""
    return {harness.id: harness.names(service_id)["prefix"] for harness in known()}


def core_source() -> Path:
    """The source file of the decision core, as it is copied into bundles."""
    if hookcore.__file__ is None:
        raise FileNotFoundError(CORE_FILE)
    return Path(hookcore.__file__)


def _walk(folder: Traversable, inside: str) -> Iterator[tuple[str, str]]:
    if not folder.is_dir():
        return
    for item in folder.iterdir():
        path = f"{inside}{item.name}"
        if item.is_dir():
            yield from _walk(item, f"{path}/")
        elif item.name.endswith(".j2"):
            yield path.removesuffix(".j2"), item.read_text(encoding="utf-8")


def environment() -> jinja2.Environment:
    """Strict templates: a missing value is an error; ``tojson`` gives plain ASCII JSON, ``toyaml`` a text."""
    made = jinja2.Environment(  # noqa: S701  # no HTML is made here
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=True)
    made.filters["toyaml"] = yaml_text
    return made


def yaml_text(value: str) -> str:
    """A quoted YAML text. JSON is not YAML where it escapes a character as two surrogates."""
    parts = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{"".join(parts)}"'

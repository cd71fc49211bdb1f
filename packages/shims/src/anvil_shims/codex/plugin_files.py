"""What a bundle says about itself to Codex: names, hook definitions, servers. Nothing is assumed here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.codex import trust
from anvil_shims.installing.actions import ActionError
from anvil_shims.installing.keeping import Config

if TYPE_CHECKING:
    from anvil_shims.installing.actions import Surroundings
    from anvil_shims.installing.bundle_files import Bundle

MANIFEST = ".codex-plugin/plugin.json"
MARKETPLACE = ".agents/plugins/marketplace.json"


@dataclass(frozen=True)
class Plugin:
    """The plugin that the bundle's folder is."""

    name: str
    marketplace: str
    version: str
    hooks_file: str
    hooks: tuple[trust.Definition, ...]
    servers: dict[str, dict[str, Any]]

    @property
    def id(self) -> str:
        return f"{self.name}@{self.marketplace}"

    def copy(self, home: Path) -> Path:
        """Where Codex keeps the plugin's files, once it is installed."""
        return home / "plugins" / "cache" / self.marketplace / self.name / self.version


def read(bundle: Bundle) -> Plugin:
    name = bundle.text(MANIFEST, "name")
    marketplace = bundle.text(MARKETPLACE, "name")
    hooks_file = bundle.text(MANIFEST, "hooks").removeprefix("./")
    try:
        hooks = tuple(trust.definitions(f"{name}@{marketplace}:{hooks_file}", bundle.json(hooks_file)))
    except (AttributeError, KeyError, TypeError):
        hooks = ()
    if not hooks:
        message = "defines no hook command; compile the bundle again"
        raise ActionError("bundle_broken", message, str(bundle.root / hooks_file))
    servers = bundle.json(bundle.text(MANIFEST, "mcpServers").removeprefix("./")).get("mcpServers", {})
    return Plugin(name, marketplace, bundle.text(MANIFEST, "version"), hooks_file, hooks, servers)


def home(where: Surroundings) -> Path:
    """Codex's own folder."""
    said = where.environ.get("CODEX_HOME")
    return Path(said) if said else where.home / ".codex"


def config(where: Surroundings) -> Config:
    return Config(home(where) / "config.toml", "toml")


def normal(name: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)

"""What a bundle says about itself to Claude Code, and where Claude Code keeps its settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.installing.keeping import Config

if TYPE_CHECKING:
    from anvil_shims.installing.actions import Surroundings
    from anvil_shims.installing.bundle_files import Bundle

MANIFEST = ".claude-plugin/plugin.json"
MARKETPLACE = ".claude-plugin/marketplace.json"


@dataclass(frozen=True)
class Plugin:
    """The plugin that the bundle's folder is."""

    name: str
    marketplace: str
    version: str
    servers: dict[str, dict[str, Any]]

    @property
    def id(self) -> str:
        return f"{self.name}@{self.marketplace}"


def read(bundle: Bundle) -> Plugin:
    servers = bundle.json(bundle.text(MANIFEST, "mcpServers").removeprefix("./"))
    return Plugin(
        bundle.text(MANIFEST, "name"),
        bundle.text(MARKETPLACE, "name"),
        bundle.text(MANIFEST, "version"),
        servers.get("mcpServers", {}),
    )


def folder(where: Surroundings) -> Path:
    """Claude Code's own folder."""
    said = where.environ.get("CLAUDE_CONFIG_DIR")
    return Path(said) if said else where.home / ".claude"


def state_file(where: Surroundings) -> Path:
    """Where the user's own servers are kept: beside the folder, or inside one that was named."""
    said = where.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(said) if said else where.home) / ".claude.json"


def config(where: Surroundings, empties: dict[str, str | None] | None = None) -> Config:
    return Config(folder(where) / "settings.json", "json", empties or {})


def normal(name: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)

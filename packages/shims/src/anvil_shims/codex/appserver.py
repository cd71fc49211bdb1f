"""Asks Codex itself, through its app-server: which hooks it sees, and to write down that one is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_shims.installing.stdio_rpc import Peer

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_shims.installing.actions import Surroundings


def connect(program: Path, where: Surroundings) -> Peer:
    peer = Peer([str(program), "app-server"], where.environ, where.cwd)
    info = {"name": "anvil", "title": None, "version": "0"}
    try:
        peer.ask("initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}})
        peer.tell("initialized")
    except BaseException:
        peer.__exit__(None, None, None)
        raise
    return peer


def hooks(peer: Peer, cwd: Path) -> list[dict[str, Any]]:
    """Every hook that Codex sees from this folder, whatever its source."""
    answer = peer.ask("hooks/list", {"cwds": [str(cwd)]})
    return [hook for place in answer["data"] for hook in place["hooks"]]


def trust(peer: Peer, marks: dict[str, str]) -> None:
    """Write hooks' marks, as Codex's own dialog does."""
    edit = {
        "keyPath": "hooks.state",
        "value": {key: {"trusted_hash": mark} for key, mark in marks.items()},
        "mergeStrategy": "upsert",
    }
    fields = {"edits": [edit], "filePath": None, "expectedVersion": None, "reloadUserConfig": True}
    peer.ask("config/batchWrite", fields)

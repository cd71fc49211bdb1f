"""A bundle as an installer and a doctor see it: its files, their digests, its catalog."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anvil_shims.installing.actions import ActionError

OUTSIDE = frozenset({"__pycache__", ".pytest_cache"})  # caches that the harnesses ignore as well


@dataclass(frozen=True)
class Bundle:
    """A bundle's folder, as an absolute path, and what its ``bundle.json`` says."""

    root: Path
    facts: dict[str, Any]

    @property
    def service(self) -> str:
        return str(self.facts["service"])

    def json(self, relative: str) -> dict[str, Any]:
        """One of the bundle's JSON files."""
        path = self.root / relative
        data = _object(path)
        if data is None:
            message = "is missing or broken; compile the bundle again"
            raise ActionError("bundle_broken", message, str(path))
        return data

    def text(self, relative: str, *keys: str) -> str:
        """One text in one of the bundle's JSON files."""
        data: Any = self.json(relative)
        for key in keys:
            data = data.get(key) if isinstance(data, dict) else None
        if not isinstance(data, str) or not data:
            message = f"holds no text at {'.'.join(keys)}; compile the bundle again"
            raise ActionError("bundle_broken", message, str(self.root / relative))
        return data


def open_bundle(folder: Path, harness: str) -> Bundle:
    """The bundle in a folder. Raises ActionError where there is none, or none for this harness."""
    root = Path(os.path.abspath(folder))  # noqa: PTH100  # not resolved: a link above it is the user's
    facts = _object(root / "bundle.json")
    if facts is None or not isinstance(facts.get("files"), dict) or not isinstance(facts.get("service"), str):
        message = (
            "is not a bundle: it holds no readable bundle.json; give the folder of `anvil compile --out`"
        )
        raise ActionError("not_a_bundle", message, str(folder))
    made_for = sorted(facts.get("harnesses", {}))
    if harness not in made_for:
        message = (
            f"was made for {', '.join(made_for) or 'no harness'}; add {harness} to `harnesses` in the "
            "project's anvil.yaml and compile again"
        )
        raise ActionError("not_for_harness", message, str(folder))
    return Bundle(root, facts)


def differing(root: Path, facts: dict[str, Any]) -> list[str]:
    """What is missing, changed or too much in a folder that should hold the bundle, sorted."""
    wanted = {str(path): digest for path, digest in facts["files"].items()}
    found = []
    for path, digest in wanted.items():
        there = (root / path).is_file()
        if not there or hashlib.sha256((root / path).read_bytes()).hexdigest() != digest:
            found.append(f"{path} {'changed' if there else 'missing'}")
    for file in root.rglob("*"):
        name = file.relative_to(root)
        if not OUTSIDE.isdisjoint(name.parts) or (file.is_dir() and not file.is_symlink()):
            continue
        if name.as_posix() not in wanted and name.as_posix() != "bundle.json":
            found.append(f"{name.as_posix()} added")
    return sorted(found)


def approved_tools(bundle: Bundle) -> list[str]:
    """The tools that the server must list: what is approved, and the preview."""
    catalog = bundle.json("catalog.json")
    tools = [str(entry["tool"]) for entry in catalog["operations"] if entry["state"] == "approved"]
    return sorted([*tools, *([str(catalog["preview"])] if catalog.get("preview") else [])])


def _object(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None

"""Stand-ins for the harnesses' programs: they keep the same records, and rewrite every byte as they do.

They show that the bytes are kept whatever a program does to them; that the real programs do the same is
shown by tests/real. Run as ``python fake_programs.py HARNESS ARGUMENTS``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import tomllib

VERSIONS = {"codex": "codex-cli 0.171.0", "claude": "2.1.332 (Claude Code)"}


def make(harness: str, folder: Path, version: str | None = None) -> Path:
    """A program of the harness's name. ``FAKE_VERSION`` is what it says of itself."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / harness
    said = version or VERSIONS[harness]
    text = f'#!/bin/sh\nFAKE_VERSION="{said}" exec {sys.executable} {__file__} {harness} "$@"\n'
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def dump_toml(data: dict, path: tuple[str, ...] = ()) -> str:
    lines = [f"[{'.'.join(json.dumps(key) for key in path)}]"] if path else []
    lines += [f"{json.dumps(key)} = {value(one)}" for key, one in data.items() if not isinstance(one, dict)]
    tables = [dump_toml(one, (*path, key)) for key, one in data.items() if isinstance(one, dict)]
    return "\n".join([*lines, *tables, ""])


def value(one: object) -> str:
    if isinstance(one, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {value(each)}" for key, each in one.items()) + "}"
    return "[" + ", ".join(map(value, one)) + "]" if isinstance(one, list) else json.dumps(one)


class Codex:
    def __init__(self) -> None:
        self.home = Path(os.environ.get("CODEX_HOME") or Path(os.environ["HOME"], ".codex"))
        self.file = self.home / "config.toml"
        text = self.file.read_text(encoding="utf-8-sig") if self.file.exists() else ""
        self.data = tomllib.loads(text)

    def save(self) -> None:
        self.file.resolve().write_text(dump_toml(self.data), encoding="utf-8")
        self.file.resolve().chmod(0o600)

    def run(self, words: list[str]) -> int:
        match words:
            case ["plugin", "marketplace", "add", root]:
                name = json.loads(Path(root, ".agents/plugins/marketplace.json").read_text())["name"]
                here = {"source_type": "local", "source": root}
                if self.data.setdefault("marketplaces", {}).setdefault(name, here) != here:
                    print(f"Error: marketplace '{name}' is already added", file=sys.stderr)
                    return 1
            case ["plugin", "marketplace", "remove", name]:
                del self.data["marketplaces"][name]
            case ["plugin", "add", plugin]:
                self.copy(plugin)
                self.data.setdefault("plugins", {}).setdefault(plugin, {})["enabled"] = True
            case ["plugin", "remove", plugin]:
                self.data.get("plugins", {}).pop(plugin, None)
                shutil.rmtree(self.cache(plugin), ignore_errors=True)
            case ["app-server"]:
                return self.serve()
            case _:
                return 64
        self.save()
        return 0

    def cache(self, plugin: str) -> Path:
        name, _, marketplace = plugin.partition("@")
        return self.home / "plugins" / "cache" / marketplace / name

    def copy(self, plugin: str) -> None:
        root = Path(self.data["marketplaces"][plugin.partition("@")[2]]["source"])
        version = json.loads((root / ".codex-plugin/plugin.json").read_text())["version"]
        shutil.rmtree(self.cache(plugin), ignore_errors=True)
        shutil.copytree(root, self.cache(plugin) / version)

    def serve(self) -> int:
        for line in sys.stdin:
            asked = json.loads(line)
            if "id" in asked:
                result = getattr(self, asked["method"].replace("/", "_"))(asked["params"])
                print(json.dumps({"id": asked["id"], "result": result}), flush=True)
        return 0

    def initialize(self, _: dict) -> dict:
        return {"userAgent": "fake"}

    def hooks_list(self, _: dict) -> dict:
        if self.data.get("features", {}).get("hooks") is False:
            return {"data": [{"hooks": []}]}
        return {
            "data": [
                {"hooks": [hook for plugin in self.data.get("plugins", {}) for hook in self.hooks(plugin)]}
            ]
        }

    def hooks(self, plugin: str) -> list[dict]:
        from anvil_shims.codex import trust

        found = []
        for manifest in self.cache(plugin).glob("*/.codex-plugin/plugin.json"):
            root = manifest.parent.parent
            file = json.loads(manifest.read_text())["hooks"].removeprefix("./")
            files = sorted(path for path in root.rglob("*") if path.is_file())
            content = f"sha256:{hash_of(b''.join(path.read_bytes() for path in files))}"
            for one in trust.definitions(f"{plugin}:{file}", json.loads((root / file).read_text())):
                state = self.data.get("hooks", {}).get("state", {}).get(one.key, {})
                marks = (state.get("trusted_hash"), state.get("trusted_content_hash"))
                status = (
                    "trusted" if marks == (one.digest, content) else "modified" if marks[0] else "untrusted"
                )
                found.append(
                    {
                        "key": one.key,
                        "pluginId": plugin,
                        "sourcePath": str(root / file),
                        "enabled": state.get("enabled", True),
                        "currentHash": f"{one.digest}/{content}",
                        "trustStatus": status,
                    }
                )
        return found

    def config_batchWrite(self, params: dict) -> dict:  # noqa: N802  # its own name
        (edit,) = params["edits"]
        state = self.data.setdefault("hooks", {}).setdefault("state", {})
        for key, mark in edit["value"].items():
            first, _, content = mark["trusted_hash"].partition("/")
            state.setdefault(key, {}).update(trusted_hash=first, trusted_content_hash=content)
        self.save()
        return {}


def hash_of(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


class Claude:
    def __init__(self) -> None:
        self.home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path(os.environ["HOME"], ".claude"))
        self.file, self.installed = self.home / "settings.json", self.home / "installed.json"
        self.data = json.loads(self.file.read_text(encoding="utf-8-sig")) if self.file.exists() else {}
        self.plugins = json.loads(self.installed.read_text()) if self.installed.exists() else {}

    def run(self, words: list[str]) -> int:
        markets, enabled = self.data.get("extraKnownMarketplaces", {}), self.data.get("enabledPlugins", {})
        said: object = {}
        match words:
            case ["plugin", "marketplace", "list", "--json"]:
                sources = {name: one["source"] for name, one in markets.items()}
                said = [
                    {"name": name, "path": one.get("path")} for name, one in sources.items() if "path" in one
                ]
                print(json.dumps(said))
                return 0
            case ["plugin", "list", "--json"]:
                roots = {key: self.root(key) for key in self.plugins}
                print(
                    json.dumps(
                        [{"id": key, "scope": "user", "readFromFolder": root} for key, root in roots.items()]
                    )
                )
                return 0
            case ["plugin", "marketplace", "add", root]:
                name = json.loads(Path(root, ".claude-plugin/marketplace.json").read_text())["name"]
                markets[name] = {"source": {"source": "directory", "path": root}}
            case ["plugin", "marketplace", "remove", name]:
                del markets[name]
            case ["plugin", "install", plugin, "--json"]:
                was = self.plugins.setdefault(plugin, self.version(plugin))
                said = {"installedVersion": was, "availableVersion": self.version(plugin)}
                enabled[plugin] = True
            case ["plugin", "update", plugin]:
                self.plugins[plugin] = self.version(plugin)
            case ["plugin", "uninstall", plugin, "--json"]:
                del self.plugins[plugin], enabled[plugin]
            case _:
                return 64
        self.data.update(extraKnownMarketplaces=markets, enabledPlugins=enabled)
        self.file.parent.mkdir(exist_ok=True)
        self.file.resolve().write_text(json.dumps(self.data, indent=2, sort_keys=True), encoding="utf-8")
        self.installed.write_text(json.dumps(self.plugins), encoding="utf-8")
        print(json.dumps(said))
        return 0

    def root(self, plugin: str) -> str:
        return self.data["extraKnownMarketplaces"][plugin.partition("@")[2]]["source"]["path"]

    def version(self, plugin: str) -> str:
        return json.loads(Path(self.root(plugin), ".claude-plugin/plugin.json").read_text())["version"]


def main(harness: str, words: list[str]) -> int:
    if words == ["--version"]:
        print(os.environ["FAKE_VERSION"])
        return 0
    return {"codex": Codex, "claude": Claude}[harness]().run(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

"""Six committed homes, a small bundle for both harnesses, and the life of an install on them."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from anvil_shims.installing import bundle_files, records
from anvil_shims.installing.actions import Surroundings

HOMES = Path(__file__).parents[1] / "fixtures" / "homes"
NAMES = tuple(sorted(path.name for path in HOMES.iterdir() if path.is_dir()))
CONFIG = {"codex": ".codex/config.toml", "claude": ".claude/settings.json"}
SERVER = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        result = {"tools": tools} if asked["method"] == "tools/list" else {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "0"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def write(root: Path, files: dict[str, object]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        path.write_text(text, encoding="utf-8")


def hooks(matcher: str, command: str, **more: object) -> dict[str, object]:
    handler = {"type": "command", "command": command, "timeout": 10, **more}
    return {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}}


def make_bundle(root: Path, revision: int = 1, tools: tuple[str, ...] = ("get_pet",)) -> Path:
    """A bundle as the compiler lays it out, with a server that only lists its tools."""
    name, version = "anvil-pets", f"1.2.{revision}"
    plugin = {"name": name, "version": version, "description": "Pets", "author": {"name": "Pets team"}}
    local = {"source": "local", "path": "./"}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    entries = [{"tool": tool, "state": "approved"} for tool in tools]
    shutil.rmtree(root, ignore_errors=True)
    write(
        root,
        {
            ".codex-plugin/plugin.json": {
                **plugin,
                "hooks": "./plugin/codex/hooks.json",
                "mcpServers": "./plugin/codex/mcp.json",
                "skills": "./skill/",
            },
            ".agents/plugins/marketplace.json": {
                "name": name,
                "interface": {"displayName": "Pets"},
                "plugins": [{"name": name, "source": local, "policy": policy, "category": "Productivity"}],
            },
            "plugin/codex/hooks.json": hooks(
                "^mcp__pets(_[0-9a-f]{12})?__", 'python3 -I "${PLUGIN_ROOT}/plugin/codex/hook.py"'
            ),
            "plugin/codex/mcp.json": {
                "mcpServers": {
                    "pets": {"command": "python3", "args": ["-I", "mcp/server.py", "serve"], "cwd": "."}
                }
            },
            ".claude-plugin/plugin.json": {
                **plugin,
                "hooks": "./plugin/claude/hooks.json",
                "mcpServers": "./plugin/claude/mcp.json",
                "skills": ["./skill"],
            },
            ".claude-plugin/marketplace.json": {
                "name": name,
                "owner": {"name": "Pets team"},
                "metadata": {"description": "Pets"},
                "plugins": [{"name": name, "source": "./", "version": version, "description": "Pets"}],
            },
            "plugin/claude/hooks.json": hooks("^mcp__plugin_anvil-pets_api__", "true", onFailure="block"),
            "plugin/claude/mcp.json": {
                "mcpServers": {
                    "api": {
                        "type": "stdio",
                        "command": "python3",
                        "args": ["-I", "${CLAUDE_PLUGIN_ROOT}/mcp/server.py", "serve"],
                    }
                }
            },
            "mcp/server.py": SERVER.replace("TOOLS", repr(tools)),
            "skill/SKILL.md": "---\nname: pets\ndescription: Pets.\n---\nPets.\n",
            "catalog.json": {"anvil": 1, "operations": entries, "preview": None},
        },
    )
    files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    digests = {one: digest(path) for one, path in files.items()}
    facts = {"anvil": 1, "service": "pets", "version": version, "revision": revision}
    write(root, {"bundle.json": {**facts, "harnesses": {"claude": {}, "codex": {}}, "files": digests}})
    return root


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class Home:
    """A copy of a committed home, and a harness's program that uses it."""

    path: Path
    harness: str
    where: Surroundings

    @property
    def config(self) -> Path:
        return self.path / CONFIG[self.harness]

    def text(self) -> bytes:
        return self.config.read_bytes()

    def committed(self) -> dict[str, object]:
        """Every file of the home as it was copied: bytes, mode, and whether it is a link."""
        original = HOMES / self.path.name
        names = [path.relative_to(original) for path in sorted(original.rglob("*")) if not path.is_dir()]
        # The harness's own notebook: it writes there whenever it runs.
        return {str(name): self.look(name) for name in names if name.name != ".claude.json"}

    def look(self, name: Path) -> object:
        path = self.path / name
        return (path.is_symlink(), oct(path.stat().st_mode & 0o777), path.read_bytes())

    def records(self) -> list[records.Record]:
        return records.find(self.where, self.harness)


def make_home(name: str, harness: str, parent: Path, cli: Path) -> Home:
    path = parent / name
    shutil.copytree(HOMES / name, path, symlinks=True)
    for file in path.rglob("*"):
        if file.is_file() and not file.is_symlink():
            file.chmod(0o640)
    project = parent / "project"
    project.mkdir(exist_ok=True)
    environ = {"HOME": str(path), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return Home(path, harness, Surroundings(environ, project, cli, etc=parent / "etc"))


def only_inserted(before: bytes, after: bytes, pieces: int = 4) -> bool:
    """Whether ``after`` is ``before`` with at most so many pieces put in."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    if same >= len(before):
        return pieces > 0 or len(before) == len(after)
    if not pieces:
        return False
    rest = before[same:]
    starts = [at for at in range(same + 1, len(after)) if after[at : at + 12] == rest[:12]]
    return any(only_inserted(rest, after[at:], pieces - 1) for at in starts)


def live(home: Home, bundle: Path, installer: object) -> None:
    """Install, again, upgrade after an approval, uninstall: only our entries come, change and go."""
    asked: list[str] = []

    def yes(text: str) -> bool:
        asked.append(text)
        return True

    def install() -> bytes:
        opened = bundle_files.open_bundle(bundle, home.harness)
        installer.plan(opened, home.where)
        outcome = installer.install(opened, home.where, yes)
        assert (outcome.guarded, outcome.warnings) == (True, []), outcome
        return home.text()

    before, untouched = home.text(), home.committed()
    first = install()
    assert b"anvil-pets" in first
    assert only_inserted(before, first), first
    assert home.config.is_symlink() == (home.path.name == "symlink")
    questions = len(asked)
    assert questions == (1 if home.harness == "codex" else 0)
    assert install() == first
    assert len(asked) == questions
    make_bundle(bundle, revision=2, tools=("get_pet", "list_pets"))
    upgraded = install()
    assert only_inserted(before, upgraded), upgraded
    assert len(asked) == 2 * questions  # the files that were trusted have changed
    assert (upgraded != first) == (home.harness == "codex")
    (record,) = home.records()
    folder = records.folder(home.where)
    assert [oct(path.stat().st_mode & 0o777) for path in (folder.parent, folder)] == ["0o700", "0o700"]
    installer.uninstall(record, home.where)
    assert home.committed() == untouched
    assert home.records() == []

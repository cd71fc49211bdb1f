"""Claude Code under a probe: the plugin that a row asks for, the settings, the command line, the evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import probe_hook, probe_scene, probe_server
from anvil_lab.inside.claude import Claude
from anvil_lab.inside.place import PROMPT, Place, write_json
from anvil_lab.inside.probe_evidence import Evidence
from anvil_lab.inside.probe_scene import read_log, run
from anvil_lab.inside.scripted_messages import LAST_WORDS, Model, text, tool_use

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
PROGRAM = "claude"
MARKET = "probes"
HOOKS = "plugin/hooks.json"
SERVERS = "plugin/mcp.json"


@dataclass(frozen=True)
class Scene:
    """One row, and the folders in which it is acted out."""

    row: Json
    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def plugin(self) -> Path:
        return self.root / "plugin"

    @property
    def prefix(self) -> str:
        return f"mcp__plugin_{self.row['plugin']}_{self.row['server']}__"

    def filled(self, value: str) -> str:
        """Placeholders of a row; not by `format`, since braces are part of regular expressions."""
        value = (
            value.replace("{own}", "^{prefix}")
            .replace("{prefix}", self.prefix)
            .replace("{tool}", f"{self.prefix}write")
        )
        return value.replace("{plugin}", str(self.plugin)).replace("{root}", str(self.root))

    def server(self, name: str) -> Json:
        return {"command": "python3", "args": ["-I", "-S", "-B", str(self.plugin / "server.py"), name]}

    def set_up(self) -> None:
        for folder in (self.home, self.project, self.plugin):
            folder.mkdir(parents=True)
        self._write_plugin()
        self._write_settings()
        probe_scene.write_files(self.plugin, self.row, self.filled)

    def _write_plugin(self) -> None:
        row = self.row
        manifest = {
            "name": row["plugin"],
            "version": "1.0.0",
            "description": "A probe",
            "author": {"name": "Anvil"},
            "hooks": f"./{HOOKS}",
            "mcpServers": f"./{SERVERS}",
            **row["manifest"],
        }
        manifest = {key: value for key, value in manifest.items() if value is not None}
        write_json(self.plugin / ".claude-plugin" / "plugin.json", manifest)
        if row["install"] == "marketplace":  # else the plugin would be validated as a marketplace
            listed = [{"name": row["plugin"], "source": "./", "description": "A probe"}]
            market = {"name": MARKET, "owner": {"name": "Anvil"}, "plugins": listed}
            write_json(self.plugin / ".claude-plugin" / "marketplace.json", market)
        write_json(self.plugin / SERVERS, {"mcpServers": {row["server"]: self.server(row["server"])}})
        probe_scene.write_parts(self.plugin, row)
        command = 'python3 -I -S -B "${CLAUDE_PLUGIN_ROOT}/hook.py"'
        write_json(self.plugin / HOOKS, probe_scene.hooks(row, command, self.filled))

    def _write_settings(self) -> None:
        settings = dict(self.row["user_settings"])
        if self.row["rule"] != "none":
            settings["permissions"] = {self.row["rule"]: [f"{self.prefix}write"]}
        write_json(self.home / ".claude" / "settings.json", settings)
        write_json(self.project / ".claude" / "settings.json", self.row["project_settings"])
        others = {name: self.server(name) for name in self.row["user_servers"]}
        write_json(self.root / "servers.json", {"mcpServers": others})

    def command(self) -> list[str]:
        command = [PROGRAM, "--permission-mode", self.row["mode"], "-p", PROMPT]
        command += ["--output-format", "stream-json", "--verbose"]
        if self.row["user_servers"]:
            command += ["--mcp-config", str(self.root / "servers.json")]
        if self.row["install"] == "plugin-dir":
            command += ["--plugin-dir", str(self.plugin)]
        return [*command, *(self.filled(flag) for flag in self.row["flags"])]

    def environment(self, model: str) -> dict[str, str]:
        nowhere = "http://127.0.0.1:9"
        place = Place(self.home, self.project, self.plugin, self.root, model, nowhere, probe_scene.PATH)
        return Claude().environment(place)

    def paths(self) -> dict[str, str]:
        names = {self.plugin: "<plugin>", self.home: "<home>", self.project: "<project>", self.root: "<root>"}
        return {str(path): name for path, name in names.items()}


def act_out(row: Json, root: Path) -> Evidence:
    """Carry one row out in a folder that is not there yet."""
    scene = Scene(row, root)
    scene.set_up()
    if row["command"] is not None:
        return _command(scene)
    name = scene.prefix + row["call"]["tool"] if "tool" in row["call"] else row["call"]["name"]
    turns = [[tool_use(0, name, row["call"].get("args", {}))], [text(LAST_WORDS)]]
    with Model(turns) as model:
        environment = scene.environment(model.url)
        if row["install"] == "marketplace":
            _install(scene, environment)
        ended = run(scene.command(), environment, scene.project)
        return _evidence(scene, environment, model.main_requests(), ended)


def _evidence(scene: Scene, environment: dict[str, str], requests: list[Json], ended: Json) -> Evidence:
    seen = Claude().seen(requests, "toolu_0000")
    evidence = Evidence(
        hooks=read_log(scene.plugin / probe_hook.LOG),
        server=read_log(scene.plugin / probe_server.LOG),
        answered=seen.answered,
        is_error=seen.is_error,
        told=seen.text,
        after=[seen.text, *seen.extra],
        own_server=scene.row["server"],
        given=environment,
        paths=scene.paths(),
    )
    if requests:
        names = [str(tool.get("name")) for tool in requests[0]["tools"]]
        evidence.offered = [name for name in names if name.startswith("mcp__")]
    else:
        said = evidence.plain(f"{ended['stdout'][-200:]}{ended['stderr'][-200:]}".strip())
        evidence.error = f"the model was never asked; exit {ended['exit']}: {said}"
    opening = _opening(ended["stdout"])
    errors = opening.get("plugin_errors") or []
    evidence.version = opening.get("claude_code_version")
    evidence.loaded = {
        "servers": {server["name"]: server["status"] for server in opening.get("mcp_servers", [])},
        "skills": sorted(skill for skill in opening.get("skills", []) if ":" in skill),
        "errors": [evidence.plain(json.dumps(error, sort_keys=True)) for error in errors],
    }
    return evidence


def _opening(output: str) -> Json:
    """The first event of the output: what was loaded."""
    for line in output.splitlines():
        event: Json = json.loads(line) if line.startswith("{") else {}
        if event.get("subtype") == "init":
            return event
    return {}


def _command(scene: Scene) -> Evidence:
    arguments = [scene.filled(part) for part in scene.row["command"]]
    ended = run([PROGRAM, *arguments], scene.environment("http://127.0.0.1:9"), scene.project)
    evidence = Evidence(paths=scene.paths())
    said: Any = evidence.plain(f"{ended['stdout']}{ended['stderr']}".strip())
    try:
        parsed = json.loads(ended["stdout"])
        said = json.loads(evidence.plain(json.dumps(_essence(parsed))))
    except ValueError:
        pass
    evidence.command = {"exit": ended["exit"], "said": said}
    return evidence


def _essence(said: Json) -> Json:
    """Of what the program says about a plugin: what is wrong in all its files, and what it would load."""
    parts = [said.get("manifest") or {}, *(said.get("contents") or [])]
    found = {
        kind: [one.get("message") for part in parts for one in part.get(kind, [])]
        for kind in ("errors", "warnings")
    }
    return {"success": said.get("success"), **found, "skills": (said.get("provides") or {}).get("skills")}


def _install(scene: Scene, environment: dict[str, str]) -> None:
    for arguments in (
        ["plugin", "marketplace", "add", str(scene.plugin)],
        ["plugin", "install", f"{scene.row['plugin']}@{MARKET}"],
    ):
        run([PROGRAM, *arguments], environment, scene.project)

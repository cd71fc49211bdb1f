"""Codex under a probe: the plugin that a row asks for, the configuration, the command line, the evidence."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import probe_hook, probe_scene, probe_server
from anvil_lab.inside.codex import MODELS, Codex, toml, trust_entries
from anvil_lab.inside.place import PROMPT, Place, write_json
from anvil_lab.inside.probe_evidence import Evidence
from anvil_lab.inside.probe_scene import read_log, run
from anvil_lab.inside.scripted_responses import Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]
PROGRAM = "codex"
MARKET = "probes"
MANIFEST = ".codex-plugin/plugin.json"
HOOKS = "plugin/hooks.json"
SERVERS = "plugin/mcp.json"
NOWHERE = "http://127.0.0.1:9"
BYPASS = "--dangerously-bypass-hook-trust"
MODES = {
    "default": ["--sandbox", "read-only"],  # what `codex exec` is by itself
    "workspace-write": ["--sandbox", "workspace-write"],
    "full-access": ["--sandbox", "danger-full-access"],
    "yolo": ["--dangerously-bypass-approvals-and-sandbox"],
}


@dataclass(frozen=True)
class Scene:
    """One row, and the folders in which it is acted out.

    Codex runs a copy of the plugin. Hook and server are started from the folder that it was copied from, and
    leave their logs there: a file more in the copy would take the trust away.
    """

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
    def identity(self) -> str:
        return f"{self.row['plugin']}@{MARKET}"

    @property
    def prefix(self) -> str:
        return f"mcp__{spelled(self.row['server'])}__"

    def filled(self, value: str) -> str:
        """Placeholders of a row; not by `format`, since braces are part of regular expressions."""
        own = f"^mcp__{spelled(self.row['server'])}(_[0-9a-f]{{12}})?__"
        value = value.replace("{own}", own).replace("{prefix}", self.prefix)
        value = value.replace("{tool}", f"{self.prefix}write").replace("{identity}", self.identity)
        return value.replace("{plugin}", str(self.plugin)).replace("{root}", str(self.root))

    def server(self, name: str) -> Json:
        return {"command": "python3", "args": ["-I", "-S", "-B", str(self.plugin / "server.py"), name]}

    def set_up(self, model: str) -> None:
        for folder in (self.home / ".codex", self.project / ".codex", self.plugin):
            folder.mkdir(parents=True)
        self._write_plugin()
        probe_scene.write_files(self.plugin, self.row, self.filled)
        self._write("home", [*self._settings(model), *self._trusted()])
        self._write("project", self._lines(self.row["project_settings"]))

    def _write_plugin(self) -> None:
        row = self.row
        manifest = {
            "name": row["plugin"],
            "version": "1.0.0",
            "description": "A probe",
            "hooks": f"./{HOOKS}",
            "mcpServers": f"./{SERVERS}",
            **row["manifest"],
        }
        manifest = {key: value for key, value in manifest.items() if value is not None}
        write_json(self.plugin / MANIFEST, manifest)
        listed = {"name": row["plugin"], "source": {"source": "local", "path": "./"}}
        write_json(
            self.plugin / ".agents" / "plugins" / "marketplace.json", {"name": MARKET, "plugins": [listed]}
        )
        write_json(self.plugin / SERVERS, {"mcpServers": {row["server"]: self.server(row["server"])}})
        probe_scene.write_parts(self.plugin, row)
        command = f'python3 -I -S -B "{self.plugin}/hook.py"'
        write_json(self.plugin / HOOKS, probe_scene.hooks(row, command, self.filled))

    def _write(self, place: str, lines: list[str]) -> None:
        (self.root / place / ".codex" / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _lines(self, settings: Json) -> list[str]:
        """Settings of a row: keys as TOML spells them, dots included."""
        return [f"{self.filled(key)} = {json.dumps(value)}" for key, value in settings.items()]

    def _settings(self, model: str) -> Iterator[str]:
        row = self.row
        provider = {
            "name": "scripted",
            "base_url": f"{model}/v1",
            "env_key": "SCRIPTED_KEY",
            "wire_api": "responses",
            "request_max_retries": 0,
            "stream_max_retries": 0,
        }
        yield f"model = {toml(MODELS[row['shape']])}"
        yield 'model_provider = "scripted"'
        yield "analytics.enabled = false"
        yield from self._lines(row["user_settings"])
        yield "[model_providers.scripted]"
        yield from self._lines(provider)
        yield f"[projects.{toml(str(self.project))}]"
        yield 'trust_level = "trusted"'
        for name in row["user_servers"]:
            server = self.server(f"user-{name}")
            yield f"[mcp_servers.{name}]"
            yield from self._lines({**server, "default_tools_approval_mode": "approve"})
        if row["approval"] != "none":
            yield f"[plugins.{toml(self.identity)}.mcp_servers.{toml(row['server'])}]"
            yield f"default_tools_approval_mode = {toml(row['approval'])}"

    def _trusted(self) -> Iterator[str]:
        if self.row["trust"] in ("bypass", "none"):
            return
        for key, mark in trust_entries(self.identity, self.plugin):
            yield f"[hooks.state.{toml(key)}]"
            yield f"trusted_hash = {toml(mark if self.row['trust'] != 'stale' else 'sha256:' + '0' * 64)}"

    def command(self) -> list[str]:
        command = [PROGRAM, "exec", "--json", "--skip-git-repo-check", *MODES[self.row["mode"]]]
        if self.row["trust"] == "bypass":
            command += [BYPASS]
        return [*command, *(self.filled(flag) for flag in self.row["flags"]), PROMPT]

    def environment(self) -> dict[str, str]:
        place = Place(self.home, self.project, self.plugin, self.root, NOWHERE, NOWHERE, probe_scene.PATH)
        return Codex().environment(place)

    def copies(self) -> list[Path]:
        return sorted(self.home.glob(".codex/plugins/cache/*/*/*"))

    def paths(self) -> dict[str, str]:
        names = {self.plugin: "<plugin>", self.home: "<home>", self.project: "<project>", self.root: "<root>"}
        names |= dict.fromkeys(self.copies(), "<copy>")
        names[self.home / ".codex" / "plugins" / "data" / f"{self.row['plugin']}-{MARKET}"] = "<data>"
        return {str(path): name for path, name in names.items()}

    def log(self, name: str) -> list[Json]:
        """What was logged beside the scripts; in the copy too, for a row that starts them from there."""
        return [line for folder in (self.plugin, *self.copies()) for line in read_log(folder / name)]


def spelled(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def act_out(row: Json, root: Path) -> Evidence:
    """Carry one row out in a folder that is not there yet."""
    scene = Scene(row, root)
    with Model(row["shape"], servers=len({row["server"], *row["user_servers"]})) as model:
        scene.set_up(model.url)
        environment = scene.environment()
        version = run([PROGRAM, "--version"], environment, scene.project)["stdout"].split()[-1]
        refused = _install(scene, environment)
        if refused:
            evidence = Evidence(error=Evidence(paths=scene.paths()).plain(refused))
        elif row["command"] is not None:
            evidence = _command(scene, environment)
        else:
            evidence = _conversation(scene, environment, model)
            if row["trust"] == "changed":
                if not evidence.hooks:
                    raise RuntimeError("the hook did not run before the change either")
                _change(scene)
                evidence = _conversation(scene, environment, model)
    evidence.version = version
    return evidence


def _change(scene: Scene) -> None:
    """A file more in the copy than it had when its hooks first ran; the first run's logs are forgotten."""
    for log in (probe_hook.LOG, probe_server.LOG):
        (scene.plugin / log).unlink()
    for copy in scene.copies():
        (copy / "more.txt").write_text("more", encoding="utf-8")


def _conversation(scene: Scene, environment: dict[str, str], model: Model) -> Evidence:
    row = scene.row
    name = row["call"].get("name") or scene.prefix + spelled(row["call"]["tool"])
    (use_id,) = model.script([(name, row["call"].get("args", {}))])
    ended = run(scene.command(), environment, scene.project)
    return _evidence(scene, environment, model, ended, use_id)


def _evidence(scene: Scene, environment: dict[str, str], model: Model, ended: Json, use_id: str) -> Evidence:
    codex = Codex()
    report = codex.report(ended["stdout"])
    seen = codex.seen(model.main_requests(), use_id)
    evidence = Evidence(
        hooks=[hook for hook in scene.log(probe_hook.LOG) if not _of_a_look(hook)],
        server=scene.log(probe_server.LOG),
        answered=seen.answered,
        told=seen.text,
        after=[seen.text, *seen.extra],
        offered=[name for name in model.offered() if name.startswith("mcp__")],
        notices=[notice for notice in report.notices if BYPASS not in notice],
        own_server=scene.row["server"],
        call_id_key="callId",
        given=environment,
        paths=scene.paths(),
    )
    # The output of a call does not tell an error from an answer; that no server got it does.
    evidence.is_error = not evidence.calls()
    if not model.requests:
        said = evidence.plain(f"{ended['stdout'][-200:]}{ended['stderr'][-200:]}".strip())
        evidence.error = f"the model was never asked; exit {ended['exit']}: {said}"
    if "loaded" in scene.row["observe"]:
        evidence.loaded = _loaded(scene, environment, evidence)
    return evidence


def _of_a_look(hook: Json) -> bool:
    """The model looks at its tools, as often as it takes, until the servers are there."""
    return str(hook["stdin"].get("tool_use_id")).startswith("look_")


def _loaded(scene: Scene, environment: dict[str, str], evidence: Evidence) -> Json:
    """What the program itself says of the hooks that it sees; nothing else tells why one does not run."""
    answer = _ask(scene, environment, "hooks/list", {"cwds": [str(scene.project)]})
    found = answer["result"]["data"][0]
    read = ("eventName", "enabled", "matcher", "trustStatus", "timeoutSec")
    loaded: Json = {"hooks": [{key: hook.get(key) for key in read} for hook in found["hooks"]]}
    for kind in ("warnings", "errors"):
        loaded[kind] = [evidence.plain(json.dumps(one)) for one in found[kind]]
    return loaded


def _ask(scene: Scene, environment: dict[str, str], method: str, params: Json) -> Json:
    """One question to the program's app-server, which ends when its standard input does."""
    client = {"clientInfo": {"name": "probe", "title": None, "version": "0"}}
    steps = [
        {"id": 0, "method": "initialize", "params": client},
        {"method": "initialized"},
        {"id": 1, "method": method, "params": params},
    ]
    with subprocess.Popen(
        [PROGRAM, "app-server"],
        env=environment,
        cwd=scene.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(probe_scene.SECONDS, process.kill)
        late.start()
        process.stdin.write("".join(json.dumps(step) + "\n" for step in steps))
        process.stdin.flush()
        answers: Iterator[Json] = (json.loads(line) for line in process.stdout)
        found = next((answer for answer in answers if answer.get("id") == 1), None)
        late.cancel()
        process.kill()
    if found is None or "result" not in found:
        raise RuntimeError(f"{PROGRAM} app-server did not answer {method}: {found}")
    return found


def _command(scene: Scene, environment: dict[str, str]) -> Evidence:
    arguments = [scene.filled(part) for part in scene.row["command"]]
    ended = run([PROGRAM, *arguments], environment, scene.project)
    evidence = Evidence(paths=scene.paths())
    said = evidence.plain(f"{ended['stdout']}{ended['stderr']}".strip())
    evidence.command = {"exit": ended["exit"], "said": said}
    return evidence


def _install(scene: Scene, environment: dict[str, str]) -> str:
    """Install the plugin as a user would; what was said where that failed."""
    for arguments in (
        ["plugin", "marketplace", "add", str(scene.plugin)],
        ["plugin", "add", scene.identity, "--json"],
    ):
        ended = run([PROGRAM, *arguments], environment, scene.project)
        if ended["exit"] != 0:
            return f"{' '.join(arguments[:-1])}: {ended['stdout']}{ended['stderr']}".strip()
    return ""

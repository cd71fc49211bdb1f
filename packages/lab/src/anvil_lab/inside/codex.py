"""Codex: its configuration, its command line, its names, and how it tells the model what happened."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anvil_lab.inside import answers
from anvil_lab.inside.conversation import Look, converse
from anvil_lab.inside.place import FOREIGN, PROMPT, Place, Report, Seen, read_json, tool_server, write_json
from anvil_lab.inside.records import Asked, Call, Refuser, Run, ServedTool
from anvil_lab.inside.scripted_responses import Model, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_lab.inside.terminal import Terminal

PROGRAM = "codex"
SHELL_TOOL = "exec_command"
# The program chooses the form in which it offers tools by the model's name.
MODELS: dict[Shape, str] = {"plain": "scripted-model", "code": "gpt-6.2-sol"}
_LOOK = Look(
    ready=r"(?i)(scripted-model|gpt-6\.2-sol) default",
    first="Hooks need review",
    begins=r"^ *Field \d+/\d+|Would you like to",
    dialog=rf"1\. (Allow|Yes)|Allow the .* to run tool|{answers.CODE.pattern}",
)
_BY_HOOK = re.compile(r"blocked by PreToolUse hook")
_BY_HARNESS = re.compile(
    r"requires approval, but approval policy|unsupported call|is not a function"
    r"|user (cancelled|rejected) MCP tool call|No permissions to create a new namespace"
    r"|Automatic approval review",
)
# How an error of the bundle's server looks where the program does not tell (in a terminal, of an agent).
_ENVELOPE = re.compile(r'\A\{"error": \{"code": "')
_ABSENT = re.compile(r"unsupported call|is not a function")
_CLIENT = Path(__file__).with_name("codex_client.py")
_HEAD = re.compile(r"\A(?:Chunk ID: .*\n|Script \w+\n)?Wall time:? .*\n(?:.*\n)*?Output:\n*")


class Codex:
    shapes = ("plain", "code")

    def __init__(self) -> None:
        self.failed: list[str] = []  # texts of calls that a server answered with an error
        self.version = ""

    def model(self, run: Run) -> Model:
        servers = {*run.servers, *_servers(Path(run.bundle))} if run.servers else set()
        return Model(_shape(run), servers=len(servers), subagent=run.subagent)

    def settle(self, place: Place, run: Run) -> None:
        home = place.home / ".codex"
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text("\n".join(self._settings(place, run)) + "\n", encoding="utf-8")
        if not run.hooks:
            folder = place.project / ".codex"
            folder.mkdir(exist_ok=True)
            (folder / "config.toml").write_text("[features]\nhooks = false\n", encoding="utf-8")

    def _settings(self, place: Place, run: Run) -> list[str]:
        mode = run.mode or ("approve" if run.grant == "allow" else None)
        lines = [
            f"model = {toml(MODELS[_shape(run)])}",
            'model_provider = "scripted"',
            "[model_providers.scripted]",
            'name = "scripted"',
            f"base_url = {toml(place.model + '/v1')}",
            'env_key = "SCRIPTED_KEY"',
            'wire_api = "responses"',
            "request_max_retries = 0",
            "stream_max_retries = 0",
            "[analytics]",
            "enabled = false",
            f"[projects.{toml(str(place.project))}]",
            'trust_level = "trusted"',
        ]
        if mode is not None:
            lines += [f"[plugins.{toml(self._plugin(place))}.mcp_servers.{self._server(place)}]"]
            lines += [f"default_tools_approval_mode = {toml(mode)}"]
        servers = dict(run.servers)
        if any(call.foreign for call in run.calls):
            servers[FOREIGN] = [ServedTool("echo", "POST", f"/{FOREIGN}/echo")]
        for name, tools in servers.items():
            server = tool_server(place.api, tools)
            lines += [f"[mcp_servers.{name}]", f"command = {toml(server[0])}"]
            lines += [f"args = {json.dumps(server[1:])}"]
            lines += [f"default_tools_approval_mode = {toml(mode)}"] if mode is not None else []
        if run.trust in ("entry", "stale", "off"):
            for key, value in trust_entries(self._plugin(place), place.bundle):
                mark = value if run.trust != "stale" else "sha256:" + "0" * 64
                lines += [f"[hooks.state.{toml(key)}]", f"trusted_hash = {toml(mark)}"]
                lines += ["enabled = false"] if run.trust == "off" else []
        return lines

    def replace_server(self, place: Place, tools: Sequence[ServedTool]) -> None:
        server = tool_server(place.api, tools)
        servers = {self._server(place): {"command": server[0], "args": server[1:]}}
        write_json(place.bundle / "plugin" / "codex" / "mcp.json", {"mcpServers": servers})

    def install(self, place: Place, run: Run) -> None:  # noqa: ARG002 - Codex has one way of installing
        self.version = self._cli(place, "--version").split()[-1]
        self._cli(place, "plugin", "marketplace", "add", str(place.bundle))
        self._cli(place, "plugin", "add", self._plugin(place), "--json")

    def installed_at(self, place: Place) -> list[Path]:
        copies = place.home.glob(".codex/plugins/cache/*/*/*/.codex-plugin/plugin.json")
        return [place.bundle, *(path.parent.parent for path in sorted(copies))]

    def tool_name(self, place: Place, call: Call) -> str:
        if call.shell is not None:
            return SHELL_TOOL
        if call.foreign is not None:
            return f"mcp__{FOREIGN}__{call.foreign}"
        return f"mcp__{re.sub(r'[^A-Za-z0-9_]', '_', self._server(place))}__{call.tool}"

    def arguments(self, call: Call) -> Any:
        if call.shell is not None:
            return {"cmd": call.shell}
        return {**call.args, "filler": "x" * call.filler} if call.filler else call.args

    def environment(self, place: Place) -> dict[str, str]:
        return {**place.environment(), "CODEX_HOME": str(place.home / ".codex"), "SCRIPTED_KEY": "dummy"}

    def command(self, place: Place, run: Run) -> list[str]:  # noqa: ARG002
        if run.client is not None:
            policy = "never" if run.grant == "bypass" else "on-request"
            access = "danger-full-access" if run.grant == "bypass" else run.access or "read-only"
            return [sys.executable, "-I", str(_CLIENT), run.client, policy, access, PROMPT]
        if run.person is not None:
            command = [PROGRAM, "--no-daemon"]
        else:
            command = [PROGRAM, "exec", "--json", "--skip-git-repo-check"]
        if run.grant == "bypass":
            command += ["--dangerously-bypass-approvals-and-sandbox"]
        elif "--approve-for-me" not in run.surroundings.flags:  # which goes with no word about the sandbox
            # A shell command cannot run in the program's own sandbox here: the container is the sandbox.
            allowed = run.grant == "allow" and any(call.shell for call in run.calls)
            command += ["--sandbox", run.access or ("danger-full-access" if allowed else "read-only")]
        if run.trust == "bypass":
            command += ["--dangerously-bypass-hook-trust"]
        return [*command, PROMPT] if run.person is None else command

    def converse(self, terminal: Terminal, run: Run, dialogs: list[str]) -> None:
        converse(terminal, run, _LOOK, dialogs)

    def report(self, output: str) -> Report:
        notices, asked = [], []
        for line in output.splitlines():
            event = _json_object(line)
            item = event.get("item") or {}
            if event.get("type") == "asked":
                asked.append(_question(event["params"]))
            elif event.get("type") in ("error", "turn.failed"):
                notices.append(json.dumps(event))
            elif item.get("type") == "error" and "Model metadata" not in str(item.get("message")):
                notices.append(str(item.get("message")))
            elif item.get("type") == "mcp_tool_call" and item.get("status") == "failed":
                self.failed.append(_content((item.get("result") or {}).get("content")))
        return Report(self.version, {}, notices, asked=asked)

    def seen(self, requests: Sequence[dict[str, Any]], use_id: str) -> Seen:
        for request in reversed(requests):  # the last one of the agent that made the call
            found = self._seen(request["input"], use_id)
            if found is not None:
                return found
        return Seen(False, False, "", [])

    def _seen(self, items: Sequence[dict[str, Any]], use_id: str) -> Seen | None:
        since: list[dict[str, Any]] = []
        for item in items:
            kind = str(item.get("type"))
            if kind in ("function_call", "custom_tool_call"):
                since = []
            elif kind == "message" and item.get("role") == "developer":
                since.append(item)
            elif kind.endswith("call_output") and item.get("call_id") == use_id:
                text, is_error = self._read(item)
                return Seen(True, is_error, text, [_content(one.get("content")) for one in since])
        return None

    def _read(self, item: dict[str, Any]) -> tuple[str, bool]:
        text = _HEAD.sub("", _content(item.get("output")))
        if item["type"] == "custom_tool_call_output":
            return _read_script(text)
        code = re.search(r"^Process exited with code (\d+)$", _content(item.get("output")), re.MULTILINE)
        failed = text in self.failed or any(one.search(text) for one in (_BY_HOOK, _BY_HARNESS, _ENVELOPE))
        return text, failed or bool(code and code[1] != "0")

    def refused_by(self, seen: Seen) -> Refuser | None:
        if not seen.is_error:
            return None
        if _BY_HOOK.search(seen.text):
            return "hook"
        return "harness" if _BY_HARNESS.search(seen.text) else "server"

    def absent(self, seen: Seen) -> bool:
        return seen.is_error and bool(_ABSENT.search(seen.text))

    def _cli(self, place: Place, *arguments: str) -> str:
        done = subprocess.run(
            [PROGRAM, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=self.environment(place),
            cwd=place.project,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()[-1500:]
            raise RuntimeError(f"{PROGRAM} {' '.join(arguments)} ended with {done.returncode}: {said}")
        return done.stdout

    def _plugin(self, place: Place) -> str:
        name = read_json(place.bundle / ".codex-plugin" / "plugin.json")["name"]
        market = read_json(place.bundle / ".agents" / "plugins" / "marketplace.json")["name"]
        return f"{name}@{market}"

    def _server(self, place: Place) -> str:
        return _servers(place.bundle)[0]


Driver = Codex


def _shape(run: Run) -> Shape:
    return cast("Shape", run.shape or "plain")


def _servers(bundle: Path) -> list[str]:
    return list(read_json(bundle / "plugin" / "codex" / "mcp.json")["mcpServers"])


def trust_entries(plugin: str, bundle: Path) -> list[tuple[str, str]]:
    """(key, hash) of the plugin's hooks, as the program itself writes them once a user trusts them."""
    path = str(read_json(bundle / ".codex-plugin" / "plugin.json")["hooks"]).removeprefix("./")
    found = []
    for at, group in enumerate(read_json(bundle / path)["hooks"].get("PreToolUse", [])):
        for number, handler in enumerate(group["hooks"]):
            hook = {"type": "command", "command": handler["command"], "async": False}
            hook["timeout"] = max(handler.get("timeout", 600), 1)
            whole = {"event_name": "pre_tool_use", "hooks": [hook], "matcher": group["matcher"]}
            text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            key = f"{plugin}:{path}:pre_tool_use:{at}:{number}"
            found.append((key, "sha256:" + hashlib.sha256(text.encode()).hexdigest()))
    return found


def toml(text: str) -> str:
    """A basic string of TOML; JSON's escapes are all among TOML's."""
    return json.dumps(text)


def _question(params: dict[str, Any]) -> Asked:
    """What the program asked about: a call of a server's tool, or else all that it said."""
    about = params.get("_meta") or {}
    if about.get("codex_approval_kind") != "mcp_tool_call":
        return Asked(json.dumps(params), None)
    server = re.sub(r"[^A-Za-z0-9_]", "_", str(params["serverName"]))
    return Asked(f"mcp__{server}__{about['tool_name']}", about.get("tool_params"))


def _read_script(text: str) -> tuple[str, bool]:
    """The outcome that a script of one awaited call printed: a server's answer, a command's, or its error."""
    if text.startswith("Script error:"):
        return text, True
    value = _json_object(text)
    if "content" in value:
        data = value.get("structuredContent")
        words = _content(value["content"]) if data is None else json.dumps(data)
        return words, value.get("isError") is True
    if "exit_code" in value:
        return str(value.get("output")), value["exit_code"] != 0
    return text, False


def _json_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or [] if isinstance(block, dict))

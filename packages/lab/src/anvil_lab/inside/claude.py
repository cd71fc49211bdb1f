"""Claude Code: its settings, its command line, its names, and how it tells the model what happened."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import answers
from anvil_lab.inside.conversation import Look, converse
from anvil_lab.inside.place import FOREIGN, PROMPT, Place, Report, Seen, read_json, tool_server, write_json
from anvil_lab.inside.records import Call, Fired, Refuser, Run, ServedTool
from anvil_lab.inside.scripted_messages import Model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anvil_lab.inside.terminal import Terminal

PROGRAM = "claude"
KEY = "dummy"
SHELL_TOOL = "Bash"
_LOOK = Look(
    ready=r"\? for shortcuts|shift\+tab|for agents",
    begins=r"^ *│? *(Tool use|Bash command)",
    dialog=rf"1\. Yes|(?m:{answers.NO_FIRST.pattern})",
    stopped=r"Interrupted|rejected",
    aside=r"Enter to stay in auto mode",
)
_BY_HOOK = re.compile(r"^PreToolUse:\S+ hook error: |\[plugin:|This hook comes from")
_BY_HARNESS = re.compile(
    r"requested permissions|requires permission|No such tool available|doesn't want to proceed"
    r"|was rejected|needs approval|[Pp]ermission to use \S+ has been denied|while in plan mode"
    r"|Auto mode is unavailable",
)


class Claude:
    shapes = (None,)

    def model(self, run: Run) -> Model:
        return Model([], subagent=run.subagent)

    def settle(self, place: Place, run: Run) -> None:
        settings: dict[str, Any] = {}
        rule = run.rule or ("allow" if run.grant == "allow" else "none")
        if rule != "none":
            settings["permissions"] = {rule: [self._prefix(place), f"mcp__{FOREIGN}", SHELL_TOOL]}
        write_json(place.home / ".claude" / "settings.json", settings)
        write_json(
            place.home / ".claude.json",
            {
                "hasCompletedOnboarding": True,
                "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                "bypassPermissionsModeAccepted": True,
                "projects": {str(place.project): {"hasTrustDialogAccepted": True}},
            },
        )
        project: dict[str, Any] = {} if run.hooks else {"disableAllHooks": True}
        project |= run.surroundings.project_settings
        if run.surroundings.project_environment:
            project["env"] = run.surroundings.project_environment
        write_json(place.project / ".claude" / "settings.json", project)
        server = tool_server(place.api, [ServedTool("echo", "POST", f"/{FOREIGN}/echo")])
        servers = {FOREIGN: {"command": server[0], "args": server[1:]}}
        write_json(place.scratch / "servers.json", {"mcpServers": servers})

    def replace_server(self, place: Place, tools: Sequence[ServedTool]) -> None:
        path = place.bundle / "plugin" / "claude" / "mcp.json"
        server = tool_server(place.api, tools)
        write_json(path, {"mcpServers": {self._server(place): {"command": server[0], "args": server[1:]}}})

    def install(self, place: Place, run: Run) -> None:
        if run.install == "plugin-dir":
            return
        market = read_json(place.bundle / ".claude-plugin" / "marketplace.json")["name"]
        self._cli(place, "plugin", "marketplace", "add", str(place.bundle))
        self._cli(place, "plugin", "install", f"{self._plugin(place)}@{market}")

    def installed_at(self, place: Place) -> list[Path]:
        copies = place.home.glob(".claude/plugins/cache/*/*/*/.claude-plugin/plugin.json")
        return [place.bundle, *(path.parent.parent for path in sorted(copies))]

    def tool_name(self, place: Place, call: Call) -> str:
        if call.shell is not None:
            return SHELL_TOOL
        if call.foreign is not None:
            return f"mcp__{FOREIGN}__{call.foreign}"
        return f"{self._prefix(place)}__{call.tool}"

    def arguments(self, call: Call) -> Any:
        if call.shell is not None:
            return {"command": call.shell, "description": "A step of the script"}
        return {**call.args, "filler": "x" * call.filler} if call.filler else call.args

    def environment(self, place: Place) -> dict[str, str]:
        return {
            **place.environment(),
            "ANTHROPIC_BASE_URL": place.model,
            "ANTHROPIC_API_KEY": KEY,
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECT_TIMEOUT_MS": "60000",  # not 5 s: on a busy machine the tools would be missing
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def command(self, place: Place, run: Run) -> list[str]:
        mode = run.mode or ("bypassPermissions" if run.grant == "bypass" else "default")
        command = [PROGRAM, "--permission-mode", mode]
        if run.person is None:
            command += ["-p", PROMPT, "--output-format", "stream-json", "--verbose", "--include-hook-events"]
        if any(call.foreign for call in run.calls):
            command += ["--mcp-config", str(place.scratch / "servers.json")]
        if run.install == "plugin-dir":
            command += ["--plugin-dir", str(place.bundle)]
        return command

    def converse(self, terminal: Terminal, run: Run, dialogs: list[str]) -> None:
        converse(terminal, run, _LOOK, dialogs)

    def report(self, output: str) -> Report:
        version, servers, notices, fired = "", {}, [], []
        for line in output.splitlines():
            event = _json_object(line)
            kind = event.get("subtype")
            if kind == "init":
                version = str(event.get("claude_code_version", ""))
                servers = {str(s.get("name")): str(s.get("status")) for s in event.get("mcp_servers", [])}
                notices += [f"plugin error: {error}" for error in event.get("plugin_errors") or []]
            elif kind == "hook_response" and event.get("hook_event") == "PreToolUse":
                notices.append(f"hook: {event.get('outcome')}, exit {event.get('exit_code')}")
                tool = str(event.get("hook_name", "")).partition(":")[2]
                outcome, output = str(event.get("outcome")), str(event.get("stdout", ""))
                fired.append(Fired(tool, outcome, event.get("exit_code"), output))
            elif kind == "informational":
                notices.append(str(event.get("content", event)))
        return Report(version, servers, notices, fired)

    def seen(self, requests: Sequence[dict[str, Any]], use_id: str) -> Seen:
        for request in reversed(requests):  # the last one of whoever made the call
            messages = request.get("messages", [])
            for index, message in enumerate(messages):
                for block in _blocks(message):
                    if block.get("type") == "tool_result" and block.get("tool_use_id") == use_id:
                        extra = _extra(messages[index:])
                        return Seen(True, block.get("is_error") is True, _text(block.get("content")), extra)
        return Seen(False, False, "", [])

    def refused_by(self, seen: Seen) -> Refuser | None:
        if not seen.is_error:
            return None
        if _BY_HOOK.search(seen.text):
            return "hook"
        return "harness" if _BY_HARNESS.search(seen.text) else "server"

    def absent(self, seen: Seen) -> bool:
        return seen.is_error and "No such tool available" in seen.text

    def _cli(self, place: Place, *arguments: str) -> None:
        environment = self.environment(place)
        done = subprocess.run(
            [PROGRAM, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=place.project,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()[-1500:]
            raise RuntimeError(f"{PROGRAM} {' '.join(arguments)} ended with {done.returncode}: {said}")

    def _plugin(self, place: Place) -> str:
        return str(read_json(place.bundle / ".claude-plugin" / "plugin.json")["name"])

    def _server(self, place: Place) -> str:
        servers = read_json(place.bundle / "plugin" / "claude" / "mcp.json")
        return str(next(iter(servers.get("mcpServers", servers))))

    def _prefix(self, place: Place) -> str:
        parts = (re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (self._plugin(place), self._server(place)))
        return "mcp__plugin_" + "_".join(parts)


Driver = Claude


def _json_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or [] if isinstance(block, dict))


def _extra(messages: Sequence[dict[str, Any]]) -> list[str]:
    """What hooks added to a tool's result; the program's own reminders to the model are left out."""
    found = []
    for message in messages:
        if message.get("role") == "assistant":
            break
        found += [str(block["text"]) for block in _blocks(message) if block.get("type") == "text"]
    return [words for words in found if "hook" in words.lower()]

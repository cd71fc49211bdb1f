"""What the probes of all harnesses have in common: the plugin's parts, its hooks, running and reading."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import probe_hook, probe_server
from anvil_lab.inside.place import SEARCH_PATH, write_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
# A program of this folder is started in place of the harness's; tests plant changes that way.
PLANTED = "/opt/planted"
PATH = f"{PLANTED}:{SEARCH_PATH}"
SECONDS = 60.0


def write_parts(plugin: Path, row: Json) -> None:
    """The hook and the server of the plugin, and what each of them is to do."""
    shutil.copyfile(probe_hook.__file__, plugin / "hook.py")
    shutil.copyfile(probe_server.__file__, plugin / "server.py")
    write_json(plugin / "serves.json", row["serves"])
    write_json(plugin / "acts.json", {hook["name"]: hook["does"] for hook in row["hooks"]})


def hooks(row: Json, command: str, filled: Callable[[str], str]) -> Json:
    """The hooks file. `command` starts the hook whose name follows it; a handler can name another one."""
    events: dict[str, list[Json]] = {}
    for hook in row["hooks"]:
        handler = {"type": "command", "command": f"{command} {hook['name']}", "timeout": 10}
        handler |= {
            key: filled(value) if isinstance(value, str) else value for key, value in hook["handler"].items()
        }
        handler = {key: value for key, value in handler.items() if value is not None}
        entry: Json = {"hooks": [handler]}
        if hook["matcher"] is not None:
            entry["matcher"] = filled(hook["matcher"])
        events.setdefault(hook["event"], []).append(entry)
    return {"hooks": events}


def write_files(plugin: Path, row: Json, filled: Callable[[str], str]) -> None:
    """The row's own files, over those that are usual."""
    for path, content in row["files"].items():
        target = plugin / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        target.write_text(filled(text), encoding="utf-8")


def run(command: list[str], environment: dict[str, str], folder: Path) -> Json:
    """The exit code, which is None where the time was over, and what was said."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, stderr = process.communicate()
        return {"exit": None, "stdout": output, "stderr": stderr}
    return {"exit": process.returncode, "stdout": output, "stderr": stderr}


def read_log(path: Path) -> list[Json]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

"""What the copied files may import: a fixed set of standard modules, and nothing on the usual way."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import hookcore

CORE = Path(hookcore.__file__)
HOOKS = sorted(Path(str(resources.files("anvil_shims"))).glob("*/hook.py"))
ALLOWED = {"_json", "_sha2", "_sha256", "_signal", "hashlib", "json", "posix", "pwd", "sys", "time"}
ON_THE_USUAL_WAY = {"_json", "_sha2", "_sha256", "_signal", "posix", "pwd", "sys", "time"}


def imported(path):
    """Every module that the file imports, and calls that import by other means."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or "").partition(".")[0])
        elif isinstance(node, ast.Name) and node.id in ("__import__", "eval", "importlib"):
            found.add(node.id)
    return found


@pytest.mark.invariant("I10")
@pytest.mark.parametrize("path", [CORE, *HOOKS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_a_fixed_set_is_imported(path):
    assert imported(path) <= ALLOWED


def test_every_harness_with_a_hook_is_checked():
    assert [path.parent.name for path in HOOKS] != []


@pytest.mark.parametrize(
    "text", ["import os", "from os import path", "from . import x", "__import__('os')", "import os.path"]
)
def test_the_check_sees(text, tmp_path):
    file = tmp_path / "x.py"
    file.write_text(f"def f():\n    {text}\n", encoding="utf-8")
    assert not imported(file) <= ALLOWED


@pytest.mark.invariant("I10")
def test_the_core_imports_nothing_at_its_top():
    top = ast.parse(CORE.read_text(encoding="utf-8")).body
    assert not [node for node in top if isinstance(node, (ast.Import, ast.ImportFrom))]


@pytest.mark.invariant("I10")
@pytest.mark.parametrize(
    "event",
    [
        '{"hook_event_name": "PreToolUse", "tool_name": "Bash"}',
        '{"hook_event_name": "PreToolUse", "tool_name": "mcp__plugin_x_api__nothing", "tool_input": {}}',
    ],
)
@pytest.mark.parametrize("hook", HOOKS, ids=lambda path: path.parent.name)
def test_a_whole_run_loads_nothing_more(hook, event, tmp_path):
    """Also no encoding, no regular expressions, no json: compared with an interpreter that does nothing."""
    folder = tmp_path / "plugin" / hook.parent.name
    folder.mkdir(parents=True)
    (folder / "hook.py").write_bytes(hook.read_bytes())
    (tmp_path / "plugin" / "hookcore.py").write_bytes(CORE.read_bytes())
    (folder / "nothing.py").write_text("", encoding="utf-8")

    def loaded(*command):
        bare = [sys.executable, "-I", "-S", "-B", "-X", "importtime"]
        done = subprocess.run([*bare, *command], input=event, capture_output=True, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in lines}, done

    base, _ = loaded(str(folder / "nothing.py"))
    full, done = loaded(
        str(folder / "hook.py"), hook.parent.name, "x", "plugin:x:api", str(tmp_path / "state")
    )
    assert done.returncode == 10
    assert "_json" in full
    assert full - base <= ON_THE_USUAL_WAY

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from anvil_lab.inside import faults
from anvil_lab.inside.place import SEARCH_PATH
from anvil_lab.inside.records import Fault, Fired
from anvil_lab.widening import OBSERVED


@pytest.fixture
def bundle(tmp_path):
    folder = tmp_path / "bundle"
    (folder / "plugin" / "claude").mkdir(parents=True)
    (folder / "catalog.json").write_text("x" * 100)
    (folder / "plugin" / "hookcore.py").write_text("core\n")
    (folder / "plugin" / "claude" / "hook.py").write_text("hook\n")
    (folder / "plugin" / "claude" / "hooks.json").write_text('{"hooks": {"PreToolUse": []}}')
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("kind", "file", "after"),
    [
        ("catalog-missing", "catalog.json", None),
        ("catalog-cut-short", "catalog.json", "x" * 50),
        ("core-missing", "plugin/hookcore.py", None),
        ("hook-missing", "plugin/claude/hook.py", None),
        ("hook-crashing", "plugin/claude/hook.py", faults.CRASH),
    ],
)
def test_a_fault_breaks_one_file_in_every_copy(kind, file, after, bundle, tmp_path):
    copy = shutil.copytree(bundle, tmp_path / "copy")
    before = contents(bundle)
    faults.break_bundle(Fault(kind), [bundle, copy], "claude")
    for folder in (bundle, copy):
        found = contents(folder)
        assert found.pop(file, None) == after
        assert found == {name: text for name, text in before.items() if name != file}


def test_a_removed_hook_leaves_a_valid_file(bundle):
    faults.break_bundle(Fault("hook-removed"), [bundle], "claude")
    assert json.loads((bundle / "plugin" / "claude" / "hooks.json").read_text()) == {"hooks": {}}


def test_python_is_found_until_it_is_removed(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3", "python3.13", "sh", "cat"):
        (programs / name).write_text("#!/bin/sh\necho found\n")
        (programs / name).chmod(0o755)
    python = faults.ReplaceablePython(tmp_path / "made", f"{programs}:{tmp_path / 'nothing'}")

    def found(name):
        return shutil.which(name, path=python.path) is not None

    assert found("python3")
    assert found("cat")
    python.remove()
    assert not found("python3")
    assert not found("python3.13")
    assert found("cat")
    asked = subprocess.run(
        ["/bin/sh", "-c", "python3"], env={"PATH": python.path}, capture_output=True, check=False
    )
    assert asked.returncode == 127


def test_another_python_stands_in_and_finds_the_interpreter(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    python = faults.ReplaceablePython(tmp_path / "made", str(programs))
    python.replace('echo before; exec {python} "$@"')

    def ask():
        command = ["python3", "-c", "print(1)"]
        return subprocess.run(command, env={"PATH": python.path}, capture_output=True, text=True, check=False)

    assert ask().stdout == "before\n1\n"
    python.replace("exit 0", executable=False)
    with pytest.raises(PermissionError):
        ask()


def test_a_file_gets_a_new_text_with_the_old_one_in_it(bundle):
    fault = Fault("file", file="plugin/hookcore.py", text="before\n{original}")
    faults.break_bundle(fault, [bundle], "claude")
    assert (bundle / "plugin" / "hookcore.py").read_text() == "before\ncore\n"


def test_a_spliced_catalog_has_its_head_its_tail_and_no_whole_line(bundle):
    catalog = bundle / "catalog.json"
    lines = ['{"tool": "aa", "state": 1},', '{"tool": "bb", "state": 2},', '{"tool": "cc", "state": 3}']
    catalog.write_text("\n".join(["{head [", *lines, "]}"]) + "\n")
    faults.break_bundle(Fault("catalog-spliced"), [bundle], "claude")
    head, *mixed, tail = catalog.read_text().splitlines()
    assert (head, tail) == ("{head [", "]}")
    assert len(mixed) == 3
    assert not set(mixed) & set(lines)


def test_planted_bytecode_is_what_a_plain_import_would_take(bundle):
    """Else the case would prove nothing: the forgery must be one that works on a careless hook."""
    faults.break_bundle(Fault("bytecode-planted"), [bundle], "claude")
    code = "import hookcore; print(hookcore.evaluate(1, 2, 3, 4).verb)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bundle / "plugin", capture_output=True, text=True, check=True
    )
    assert done.stdout == "pass\n"


def test_command_and_time_limit_of_the_hook_are_changed(bundle):
    path = bundle / "plugin" / "claude" / "hooks.json"
    handler = {"type": "command", "command": "guard", "timeout": 10}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "x", "hooks": [handler]}]}}))
    faults.edit_hooks(Fault("command", text="{hook} >> {log}", timeout=1), bundle, "claude", bundle / "log")
    (made,) = json.loads(path.read_text())["hooks"]["PreToolUse"][0]["hooks"]
    assert made == {"type": "command", "command": f"guard >> {bundle}/log", "timeout": 1}


def test_the_hooks_file_is_gone(bundle):
    (bundle / "plugin" / "claude" / "hooks.json").write_text("{}")
    faults.break_bundle(Fault("hooks-missing"), [bundle], "claude")
    assert not (bundle / "plugin" / "claude" / "hooks.json").exists()


def test_a_logged_hook_answers_as_it_does_without_the_log(tmp_path):
    event = json.dumps({"tool_name": "mcp__a__b"})
    hook = "cat >/dev/null; echo why >&2; echo said; exit 2"
    command = OBSERVED.replace("{hook}", hook).replace("{log}", str(tmp_path / "log"))
    for _ in range(2):
        done = subprocess.run(["sh", "-c", command], check=False, input=event, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (2, "said", "why\n")
    assert faults.logged(tmp_path / "log") == [Fired("mcp__a__b", "logged", 2, "said")] * 2
    assert faults.logged(tmp_path / "none") == []


def test_a_program_can_be_hidden(tmp_path):
    python = faults.ReplaceablePython(tmp_path, SEARCH_PATH)
    assert shutil.which("timeout", path=python.path)
    python.hide(["timeout"])
    assert shutil.which("timeout", path=python.path) is None

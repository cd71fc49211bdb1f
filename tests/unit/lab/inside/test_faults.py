from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from anvil_lab.inside import faults


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
    faults.break_bundle(kind, [bundle, copy], "claude")
    for folder in (bundle, copy):
        found = contents(folder)
        assert found.pop(file, None) == after
        assert found == {name: text for name, text in before.items() if name != file}


def test_a_removed_hook_leaves_a_valid_file(bundle):
    faults.break_bundle("hook-removed", [bundle], "claude")
    assert json.loads((bundle / "plugin" / "claude" / "hooks.json").read_text()) == {"hooks": {}}


def test_python_is_found_until_it_is_removed(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3", "python3.13", "sh", "cat"):
        (programs / name).write_text("#!/bin/sh\necho found\n")
        (programs / name).chmod(0o755)
    python = faults.RemovablePython(tmp_path / "made", f"{programs}:{tmp_path / 'nothing'}")

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

"""The check for other interpreters runs on this one too, and can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("tests/unit/core/check_hookcore.py", "tests/support", "tests/cases", "packages/core/src/hookcore.py")
SHIMS = "packages/shims/src/anvil_shims"


def run(root):
    command = [sys.executable, "-I", str(root / "tests" / "unit" / "core" / "check_hookcore.py")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.invariant("I10")
def test_on_this_interpreter():
    done = run(ROOT)
    assert (done.stderr, done.returncode) == ("", 0)
    assert re.fullmatch(r"\d{4,} passed, 0 failed on Python 3\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('if entry["state"] != "approved":', 'if entry["state"] == "blocked":'),
        ("args.get(name) is not True:", "not args.get(name):"),
        ("dry_run and args.get(dry_run) is True", "dry_run and args.get(dry_run)"),
        ("if name < wanted", "if name <= wanted[:-1]"),
        ("return int(value) if value == int(value) else value", "return value"),
    ],
)
def test_a_changed_core_fails(tmp_path, old, new):
    for part in (*PARTS, SHIMS):
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    core = tmp_path / "packages" / "core" / "src" / "hookcore.py"
    source = core.read_text(encoding="utf-8")
    assert source.count(old) == 1
    core.write_text(source.replace(old, new), encoding="utf-8")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "FAILED" in done.stdout

"""The comparison itself: each kind of difference is seen."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import Path

import pytest

main = runpy.run_path(str(Path(__file__).with_name("golden.py")))["main"]
FILES = {
    "bundle.json": "{}\n",
    "catalog.json": '{"a": 1,\n"b": 2}\n',
    "skill/SKILL.md": "# Skill\n",
    "plugin/hookcore.py": "core = 1\n",
    "plugin/one/hook.py": "hook = 1\n",
    "plugin/one/hooks.json": "{}\n",
    "mcp/server.py": "server = 1\n",
    "mcp/requirements.lock": "x==1\n",
    "tests/test_conformance.py": "rendered = 1\n",
}


@pytest.fixture
def bundle(tmp_path):
    folder = tmp_path / "bundle"
    for path, text in FILES.items():
        put(folder, path, text)
    return folder


@pytest.fixture
def golden(bundle, tmp_path):
    folder = tmp_path / "golden"
    assert main(["update", str(bundle), str(folder)]) == 0
    return folder


def put(folder, path, text):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(text.encode())


def check(bundle, golden, capsys):
    code = main(["check", str(bundle), str(golden)])
    return code, capsys.readouterr().out


@pytest.mark.invariant("I8")
def test_the_same(bundle, golden, capsys):
    assert check(bundle, golden, capsys) == (0, "")


def test_what_the_golden_tree_holds(golden):
    found = sorted(path.relative_to(golden).as_posix() for path in golden.rglob("*") if path.is_file())
    assert found == [
        "bundle.json",
        "catalog.json",
        "copied.sha256",
        "plugin/one/hooks.json",
        "skill/SKILL.md",
    ]
    copied = ["mcp/requirements.lock", "mcp/server.py", "plugin/hookcore.py", "plugin/one/hook.py"]
    copied.append("tests/test_conformance.py")
    lines = [f"{hashlib.sha256(FILES[path].encode()).hexdigest()}  {path}\n" for path in copied]
    assert (golden / "copied.sha256").read_text(encoding="utf-8") == "".join(lines)


def test_a_changed_file(bundle, golden, capsys):
    put(bundle, "catalog.json", '{"a": 1,\n"b": 3}\n')
    code, out = check(bundle, golden, capsys)
    assert code == 1
    assert "--- golden/catalog.json\n+++ bundle/catalog.json\n" in out
    assert '-"b": 2}\n+"b": 3}' in out
    assert "--update-golden" in out


@pytest.mark.parametrize("path", ["plugin/one/hook.py", "mcp/server.py", "mcp/requirements.lock"])
def test_a_changed_copied_file(bundle, golden, capsys, path):
    put(bundle, path, "changed\n")
    code, out = check(bundle, golden, capsys)
    assert code == 1
    digest = hashlib.sha256(b"changed\n").hexdigest()
    assert f"+{digest}  {path}" in out


def test_a_missing_and_a_new_file(bundle, golden, capsys):
    (bundle / "skill" / "SKILL.md").rename(bundle / "skill" / "OTHER.md")
    code, out = check(bundle, golden, capsys)
    assert code == 1
    assert "missing in the bundle: skill/SKILL.md\nnew in the bundle: skill/OTHER.md\n" in out


def test_a_new_copied_file(bundle, golden, capsys):
    put(bundle, "mcp/lib/more.py", "")
    code, out = check(bundle, golden, capsys)
    assert code == 1
    assert "  mcp/lib/more.py" in out


def test_line_ends_alone(bundle, golden, capsys):
    put(bundle, "skill/SKILL.md", "# Skill\r\n")
    code, out = check(bundle, golden, capsys)
    assert code == 1
    assert "only line ends or unreadable bytes differ" in out


def test_a_long_diff_is_cut(bundle, golden, capsys):
    put(bundle, "skill/SKILL.md", "line\n" * 1000)
    code, out = check(bundle, golden, capsys)
    assert code == 1
    assert "more lines" in out
    assert len(out.splitlines()) < 80


def test_update_leaves_nothing_of_before(bundle, golden, capsys):
    (bundle / "skill" / "SKILL.md").unlink()
    put(bundle, "plugin/one/hook.py", "hook = 2\n")
    assert main(["update", str(bundle), str(golden)]) == 0
    assert check(bundle, golden, capsys) == (0, "")
    assert not (golden / "skill").exists()


def test_no_golden_tree_yet(bundle, tmp_path, capsys):
    code, out = check(bundle, tmp_path / "nowhere", capsys)
    assert code == 1
    assert "new in the bundle: catalog.json" in out


def test_no_bundle(tmp_path, golden, capsys):
    code, out = check(tmp_path / "nowhere", golden, capsys)
    assert code == 1
    assert "is not a bundle" in out


def test_an_unknown_action_is_a_usage_error(bundle, golden):
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(bundle), str(golden)])
    assert ended.value.code == 2

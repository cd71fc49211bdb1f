"""``anvil compile`` as a process: exit codes, what it prints, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from anvil_generator.bundle import plan
from anvil_generator.files import write_tree
from anvil_generator.occupied import foreign

# Ends the process at the nth write or rename of a compile, as a kill would.
KILLED = """
import os, pathlib, signal, sys
steps = int(sys.argv.pop(1))
def counted(method):
    def step(self, *args, **kwargs):
        global steps
        steps -= 1
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *args, **kwargs)
    return step
for name in ("write_bytes", "rename", "chmod"):
    setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))
import shutil
shutil.rmtree = counted(shutil.rmtree)
from anvil_generator.main import main
main()
"""


@pytest.fixture
def bundle(compiled, project, tmp_path):
    """A function: the folder of a compiled bundle, alone in its parent."""

    def make():
        out = tmp_path / "out" / "pets"
        write_tree(out, {file.path: file.data for file in plan(compiled(project()))})
        return out

    return make


def only(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_says_what_it_did(cli, project, tmp_path):
    out = tmp_path / "out"
    done = cli("compile", project(), "--out", out)
    assert done.returncode == 0
    assert "5 operations in api.json: 5 compiled (5 generated), 0 withheld, 0 failed" in done.stdout
    assert "revision 1: this contract is not the one recorded" in done.stdout
    assert f"to {out}" in done.stdout
    assert "anvil approve" in done.stderr
    assert (out / "bundle.json").is_file()


def test_json_is_the_report(cli, project, tmp_path):
    done = cli("compile", project(), "--out", tmp_path / "out", "--json")
    said = json.loads(done.stdout)
    assert said["ok"] is True
    assert said["bundle"] == str(tmp_path / "out")
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert {key: said[key] for key in report} == report


# arguments after "compile" with {project} and {out}, exit code, code of the problem
FAILURES = {
    "no such document": (["{tmp}/nope.json", "--out", "{out}"], 2, "no_such_file"),
    "a folder without a manifest": (["{tmp}/bare", "--out", "{out}"], 2, "no_manifest"),
    "no --out": (["{project}"], 2, "usage"),
    "an unknown option": (["{project}", "--out", "{out}", "--nope"], 2, "usage"),
    "an unknown policy": (["{project}", "--out", "{out}", "--human-approval", "some"], 2, "usage"),
    "a bad service id": (["{project}", "--out", "{out}", "--service", "Pets!"], 2, "service_id"),
    "a long service id": (["{project}", "--out", "{out}", "--service", "a" * 17], 2, "service_id"),
    "a missing manifest": (["{project}", "--out", "{out}", "--manifest", "{tmp}/no.yaml"], 2, "no_manifest"),
    "a broken manifest": (
        ["{project}", "--out", "{out}", "--manifest", "{tmp}/broken.yaml"],
        1,
        "manifest_invalid",
    ),
    "broken approvals": (
        ["{project}", "--out", "{out}", "--approvals", "{tmp}/broken.yaml"],
        1,
        "approvals_invalid",
    ),
    "not a document": (["{tmp}/broken.yaml", "--out", "{out}"], 1, None),
    "an empty document": (["{tmp}/empty.json", "--out", "{out}"], 1, None),
    "no JSON": (["{tmp}/cut.json", "--out", "{out}"], 1, None),
    "not UTF-8": (["{tmp}/latin.yaml", "--out", "{out}"], 1, None),
    "a deep document": (["{tmp}/deep.json", "--out", "{out}"], 1, "document_too_deep"),
    "a deep YAML document": (["{tmp}/deep.yaml", "--out", "{out}"], 1, None),
    "no server": (["{tmp}/homeless.json", "--out", "{out}"], 1, "no_server"),
}


@pytest.fixture
def files(tmp_path, project):
    """The inputs of FAILURES."""
    (tmp_path / "bare").mkdir()
    texts = {
        "broken.yaml": "nope: 1\n",
        "empty.json": "",
        "cut.json": '{"openapi": "3.1.0", "paths": {',
        "deep.json": '{"openapi": "3.1.0", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "deep.yaml": "openapi: 3.1.0\nx: " + "[" * 100_000,
        "homeless.json": '{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.yaml").write_bytes(b"openapi: 3.1.0\ninfo: {title: caf\xe9}\n")
    return project()


@pytest.mark.parametrize("case", FAILURES)
def test_a_compile_that_fails_says_why_and_leaves_the_old_bundle(cli, files, bundle, digests, tmp_path, case):
    arguments, exit_code, code = FAILURES[case]
    out = bundle()
    before = digests(out)
    filled = [one.format(project=files, out=out, tmp=tmp_path) for one in arguments]
    done = cli("compile", *filled, "--json")
    said = json.loads(done.stdout)
    assert done.returncode == exit_code
    assert said["ok"] is False
    assert code in {one["code"] for one in said["problems"]} or code is None
    assert all(one["message"] and one["position"]["file"] for one in said["problems"])
    assert digests(out) == before


def test_without_json_the_problems_are_on_standard_error(cli, files, tmp_path):
    done = cli("compile", tmp_path / "cut.json", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cut.json:1: error: ")
    assert not (tmp_path / "out").exists()


def test_an_unreadable_document(cli, project, tmp_path):
    folder = project()
    (folder / "api.json").unlink()
    (folder / "api.json").mkdir()
    done = cli("compile", folder, "--out", tmp_path / "out", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["problems"][0]["position"] == {"file": f"{folder}/anvil.yaml", "line": 2}


def test_a_manifest_that_names_what_is_not_there(cli, project, bundle, digests, tmp_path):
    out = bundle()
    before = digests(out)
    folder = project(manifest="operations:\n  listPets: {risk: none}\n  createRefnd: {risk: high}\n")
    done = cli("compile", folder, "--out", out)
    assert done.returncode == 1
    assert f'{folder}/anvil.yaml:6: error: the document has no operation "createRefnd"' in done.stderr
    assert digests(out) == before


def test_two_entries_for_one_operation_are_an_error(cli, project, tmp_path):
    folder = project(manifest="operations:\n  listPets: {risk: none}\n  GET /pets: {state: blocked}\n")
    done = cli("compile", folder, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "anvil.yaml:6: error: " in done.stderr
    assert "same operation" in done.stderr


@pytest.mark.parametrize(
    "content",
    [
        {"notes.txt": "mine"},
        {"bundle.json": "mine"},
        {"bundle.json": '{"entries": ["a.js"]}'},
        {".git/HEAD": "ref"},
        {"sub/deep/file": ""},
    ],
)
def test_a_folder_with_other_things_is_not_replaced(cli, project, digests, tmp_path, content):
    out = tmp_path / "out"
    for name, text in content.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
    folder = project()
    before = digests(out)
    done = cli("compile", folder, "--out", out)
    assert done.returncode == 2
    assert "no compile wrote" in done.stderr
    assert digests(out) == before


@pytest.mark.parametrize("name", [".git/HEAD", "notes.txt", "plugin/mine.py"])
def test_a_bundle_with_something_added_is_not_replaced(cli, project, bundle, digests, name):
    out = bundle()
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine", encoding="utf-8")
    before = digests(out)
    done = cli("compile", project(), "--out", out)
    assert done.returncode == 2
    assert f"holds {name}" in done.stderr
    assert digests(out) == before


def test_a_bundle_is_replaced_whole(cli, project, bundle):
    out = bundle()
    for name in ("mcp/lib/__pycache__/x.pyc", ".pytest_cache/v/cache/nodeids", ".pytest_cache/README.md"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(b"")
    (out / "README.md").unlink()
    assert cli("compile", project(), "--out", out).returncode == 0
    assert not (out / "mcp" / "lib" / "__pycache__").exists()
    assert (out / "README.md").is_file()
    assert not (out / ".pytest_cache").exists()
    assert only(out.parent) == ["pets"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "mine, over what a compile wrote"),
        ("plugin/hookcore.py", ""),
        ("__pycache__/mine.txt", "mine"),
        ("mcp/lib/__pycache__/mine.pyc.txt", "mine"),
        (".pytest_cache/mine.txt", "mine"),
        (".pytest_cache/v/cache/nodeids/mine", "mine"),
    ],
)
def test_what_is_not_as_a_compile_wrote_it_is_not_lost(cli, project, bundle, digests, name, text):
    out = bundle()
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(text, encoding="utf-8")
    before = digests(out)
    done = cli("compile", project(), "--out", out)
    assert done.returncode == 2
    assert f"holds {name}, which" in done.stderr
    assert digests(out) == before


@pytest.mark.parametrize("name", ["README.md", "bundle.json", "mcp/lib/__pycache__/x.pyc"])
def test_a_link_in_a_bundle_is_the_user_s(bundle, tmp_path, name):
    out = bundle()
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "moved").write_bytes((out / name).read_bytes() if (out / name).exists() else b"")
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(tmp_path / "moved")
    assert foreign(out)


def hand_made(**changes):
    facts = {"anvil": 1, "compiler": "1", "service": "a", "version": "1", "revision": 1, "harnesses": {},
             "files": {"mine.txt": "", "gone.txt": ""}}  # fmt: skip
    return json.dumps({**facts, **changes})


@pytest.mark.parametrize(
    "marker", [hand_made(), hand_made(notes="mine"), hand_made(files=["mine.txt"]), '{"anvil": 1}', "[]", "{"]
)
def test_a_marker_made_by_hand_takes_no_file_away(tmp_path, marker):
    (tmp_path / "bundle.json").write_text(marker, encoding="utf-8")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert foreign(tmp_path)


def test_a_folder_with_nothing_but_a_cache_of_the_user_s(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/mine.txt").write_text("mine", encoding="utf-8")
    assert foreign(tmp_path) == "what no compile wrote"


def test_an_empty_folder_is_taken(cli, project, tmp_path):
    (tmp_path / "out").mkdir()
    assert cli("compile", project(), "--out", tmp_path / "out").returncode == 0


def test_a_file_in_the_way(cli, project, tmp_path):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    done = cli("compile", project(), "--out", tmp_path / "out")
    assert (done.returncode, (tmp_path / "out").read_text()) == (2, "mine")


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_link_in_the_way(cli, project, tmp_path, target):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / target)
    assert cli("compile", project(), "--out", tmp_path / "out").returncode == 2
    assert (tmp_path / "out").is_symlink()
    assert only(tmp_path / "elsewhere") == []


def test_a_link_above_is_followed(cli, project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert cli("compile", project(), "--out", tmp_path / "link" / "out").returncode == 0
    assert only(tmp_path / "elsewhere") == ["out"]


def test_a_parent_that_cannot_be_written(cli, project, tmp_path):
    parent = tmp_path / "file"
    parent.write_text("", encoding="utf-8")
    done = cli("compile", project(), "--out", parent / "out", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False


@pytest.mark.skipif(os.getuid() == 0, reason="root writes everywhere")
def test_a_read_only_parent(cli, project, tmp_path):
    parent = tmp_path / "parent"
    parent.mkdir(mode=0o500)
    done = cli("compile", project(), "--out", parent / "out", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["problems"][0]["code"] == "file"
    assert only(parent) == []


def test_the_project_itself_is_not_replaced(cli, project, digests):
    folder = project()
    before = digests(folder)
    assert cli("compile", folder, "--out", folder).returncode == 2
    assert digests(folder) == before


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_the_modes_do_not_depend_on_the_umask(cli, project, tmp_path, umask):
    out = tmp_path / "out"
    assert cli("compile", project(), "--out", out, umask=umask).returncode == 0
    modes = {path.stat().st_mode & 0o7777 for path in out.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o7777 for path in [out, *out.rglob("*")] if path.is_dir()}
    assert (modes, folders) == ({0o644}, {0o755})


def test_the_policy_is_written_down_and_kept(cli, project, tmp_path):
    folder, out = project(manifest="# mine\noperations:\n  addPet: {risk: high}  # why\n"), tmp_path / "out"
    assert cli("compile", folder, "--out", out, "--human-approval", "unsafe").returncode == 0
    text = (folder / "anvil.yaml").read_text()
    assert "human_approval: unsafe" in text
    assert "# mine" in text
    assert "# why" in text
    first = (out / "catalog.json").read_bytes()
    assert b'"human_approval": true' in first
    assert cli("compile", folder, "--out", out).returncode == 0
    assert (out / "catalog.json").read_bytes() == first


def test_the_policy_is_written_into_a_manifest_elsewhere(cli, project, tmp_path):
    folder = project()
    elsewhere = tmp_path / "other.yaml"
    elsewhere.write_text((folder / "anvil.yaml").read_text(), encoding="utf-8")
    command = ["compile", folder / "api.json", "--manifest", elsewhere, "--out", tmp_path / "out"]
    assert cli(*command, "--human-approval", "all").returncode == 0
    assert "human_approval: all" in elsewhere.read_text()


def test_a_policy_of_a_compile_that_fails_is_not_written_down(cli, project, tmp_path):
    folder = project(manifest="operations:\n  nope: {}\n")
    before = (folder / "anvil.yaml").read_bytes()
    assert cli("compile", folder, "--out", tmp_path / "out", "--human-approval", "all").returncode == 1
    assert (folder / "anvil.yaml").read_bytes() == before


def test_a_bare_document_has_nothing_approved(cli, project, tmp_path):
    done = cli("compile", project() / "api.json", "--out", tmp_path / "out", "--service", "mine")
    assert done.returncode == 0
    catalog = json.loads((tmp_path / "out/catalog.json").read_text())
    assert catalog["service"]["id"] == "mine"
    assert {one["state"] for one in catalog["operations"]} == {"generated"}


def test_words_that_the_terminal_cannot_show(cli, project, tmp_path):
    folder = project(info={"title": "Пэтс 🐕", "version": "1"})
    (folder / "api.json").rename(folder / "aпи.json")
    done = cli("compile", folder / "aпи.json", "--out", tmp_path / "o", "--service", "pets",
               PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_closed_standard_output_is_no_traceback(project, tmp_path):
    command = [sys.executable, "-m", "anvil_generator", "inspect", str(project())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in said


def test_a_kill_at_any_step_leaves_a_whole_bundle(project, bundle, tmp_path):
    """Old or new, never half or none; what was being written lies beside it under a hidden name."""
    out = bundle()
    old = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    folder = project(manifest="description: Another text.\noperations:\n  addPet: {risk: high}\n")
    fresh = tmp_path / "fresh"
    command = [sys.executable, "-c", KILLED]
    finished = subprocess.run([*command, "100000", "compile", str(folder), "--out", str(fresh)], check=True,
                              capture_output=True)  # fmt: skip
    assert finished.returncode == 0
    new = {path.relative_to(fresh): path.read_bytes() for path in fresh.rglob("*") if path.is_file()}
    assert old != new
    killed = 0
    last = 2 * len(new) + sum(path.is_dir() for path in fresh.rglob("*")) + 4
    for step in [1, len(new), *range(last - 5, last + 1)]:
        done = subprocess.run([*command, str(step), "compile", str(folder), "--out", str(out)], check=False,
                              capture_output=True)  # fmt: skip
        killed += done.returncode == -signal.SIGKILL
        there = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        assert there in (old, new), step
        assert all(name.startswith(".pets.") for name in only(out.parent) if name != "pets")
    assert killed >= 5, "the steps end before the compile does"
    assert there == new, "the last steps come after the swap"

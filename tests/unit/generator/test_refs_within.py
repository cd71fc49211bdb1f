"""Where references may lead: said in the manifest, or by a flag for a document that has none."""

from __future__ import annotations

import json

import pytest

REFERS = {"/pets": {"get": {"parameters": [{"$ref": "../common.json#/Limit"}]}}, "/a": {"get": {}}}
COMMON = json.dumps({"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}})


@pytest.fixture
def folder(project, tmp_path):
    made = project(REFERS)
    (tmp_path / "common.json").write_text(COMMON, encoding="utf-8")
    return made


def _say(folder, line):
    manifest = folder / "anvil.yaml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + line, encoding="utf-8")


def test_a_reference_out_of_the_folder_is_refused_with_the_way_out(cli, folder, tmp_path):
    done = cli("compile", folder, "--out", tmp_path / "out")
    assert done.returncode == 0
    assert "refs_within" in done.stderr
    assert "1 compiled (1 generated), 1 withheld, 0 failed" in done.stdout


def test_the_manifest_names_a_folder_further_up(compiled, folder):
    _say(folder, "refs_within: ..\n")
    made = compiled(folder)
    assert made.total == len(made.air.operations) == 2


def test_a_folder_that_is_not_there_is_an_error_with_its_line(cli, folder, tmp_path):
    _say(folder, "refs_within: gone\n")
    done = cli("compile", folder, "--out", tmp_path / "out")
    assert done.returncode == 1
    line = len((folder / "anvil.yaml").read_text(encoding="utf-8").splitlines())
    assert f"anvil.yaml:{line}: error: gone is no folder" in done.stderr


@pytest.mark.parametrize("command", ["compile", "inspect"])
def test_a_flag_names_it_for_a_bare_document(cli, folder, tmp_path, command):
    (document,) = folder.glob("api.json")
    out = ("--out", tmp_path / "out") if command == "compile" else ()
    done = cli(command, document, *out, "--refs-within", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 withheld" in done.stdout


@pytest.mark.parametrize(("target", "within"), [("folder", "."), ("document", "gone")])
def test_wrong_usage_says_so(cli, folder, tmp_path, target, within):
    (document,) = folder.glob("api.json")
    chosen = folder if target == "folder" else document
    done = cli("compile", chosen, "--out", tmp_path / "out", "--refs-within", tmp_path / within)
    assert done.returncode == 2
    assert "--refs-within" in done.stderr


def test_the_report_names_the_file_of_an_operation(cli, project, tmp_path):
    folder = project({"/pets": {"$ref": "pets.json"}, "/a": {"get": {}}})
    (folder / "pets.json").write_text(json.dumps({"get": {}, "post": 7}, indent=1), encoding="utf-8")
    done = cli("compile", folder, "--out", tmp_path / "out", "--json")
    accounting = json.loads(done.stdout)["accounting"]
    assert {(one["path"], one.get("file"), one["line"]) for one in accounting["compiled"]} == {
        ("/pets", "pets.json", 2),
        ("/a", None, 17),
    }
    (failed,) = accounting["failed"]
    assert (failed["file"], failed["line"]) == ("pets.json", 3)
    assert failed["problem"].startswith("pets.json:3: ")

"""``anvil approve`` as a process: what it takes, what it refuses, and how revisions are counted."""

from __future__ import annotations

import json

import pytest
import yaml

OK = {"responses": {"200": {"description": "ok"}}}


@pytest.fixture
def approve(cli):
    """A function: runs it on a folder; what was newly approved."""

    def run(folder, *arguments):
        done = cli("approve", folder, *arguments, "--by", "Ann", "--json")
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)["approved"]

    return run


def written(folder):
    return yaml.safe_load((folder / "approvals.yaml").read_text(encoding="utf-8"))


def state(compiled, folder, name):
    return next(one.state for one in compiled(folder).air.operations if one.name == name)


def test_by_id_by_tool_name_and_by_operation_id(project, approve, compiled):
    folder = project()
    assert approve(folder, "pets.pets.add_pet", "get_pet", "deletePet") == [
        "pets.pets.add_pet", "pets.pets.get_pet", "pets.pets.delete_pet",
    ]  # fmt: skip
    assert {one.name for one in compiled(folder).air.operations if one.state == "approved"} == {
        "add_pet", "get_pet", "delete_pet",
    }  # fmt: skip
    assert (folder / "approvals.yaml").read_text().startswith("# Written by `anvil approve`.")


def test_who_when_and_note_are_kept(project, cli):
    folder = project()
    done = cli("approve", folder, "get_pet", "--by", "Ann", "--note", "looked at it")
    assert done.returncode == 0
    assert "approved pets.pets.get_pet (GET /pets/{pet})" in done.stdout
    entry = written(folder)["operations"]["pets.pets.get_pet"]
    assert (entry["by"], entry["note"]) == ("Ann", "looked at it")
    assert len(entry["date"]) == 10


def test_reads_takes_reads_that_nothing_speaks_against(project, approve):
    odd = {
        "/odd": {"get": {"operationId": "deleteOdd", **OK}},
        "/find": {"post": {"operationId": "find", **OK}},
    }
    plain = {"/a": {"get": {"operationId": "getA", **OK}}, "/b": {"get": {"operationId": "getB", **OK}}}
    blocked = "operations:\n  getB: {state: blocked}\n"
    folder = project({**odd, **plain, "/c": {"post": {"operationId": "addC", **OK}}}, blocked)
    assert approve(folder, "--reads") == ["pets.a.get_a"]
    assert approve(folder, "--reads") == []


def test_reads_does_not_take_one_that_was_changed(project, approve, compiled):
    folder = project()
    approve(folder, "--reads")
    project(servers=[{"url": "https://api.elsewhere.example"}])
    assert approve(folder, "--reads") == []
    assert state(compiled, folder, "get_pet") == "review_required"
    assert approve(folder, "get_pet") == ["pets.pets.get_pet"]


def forge(folder, **changes):
    """Change all entries, as if they had been written by another version of Anvil's rules."""
    data = written(folder)
    for entry in data["operations"].values():
        entry.update(changes)
    (folder / "approvals.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")


def test_unchanged_takes_what_only_anvil_s_own_rules_changed(project, approve, compiled, cli):
    folder = project()
    approve(folder, "add_pet", "get_pet")
    forge(folder, fingerprint="1:of-earlier-rules")
    assert state(compiled, folder, "add_pet") == "review_required"
    done = cli("approve", folder, "--unchanged", "--by", "Bob")
    assert "approved again, since only Anvil's own rules changed pets.pets.add_pet" in done.stdout
    assert state(compiled, folder, "add_pet") == state(compiled, folder, "get_pet") == "approved"
    assert approve(folder, "--unchanged") == []


@pytest.mark.parametrize(
    "change",
    [
        {"servers": [{"url": "https://api.elsewhere.example"}]},
        {"manifest": "operations:\n  addPet: {confirmation: {reason: Another.}}\n"},
        {"manifest": "operations:\n  addPet: {risk: high}\n"},
        {"manifest": "human_approval: all\n"},
    ],
)
def test_unchanged_does_not_take_what_the_document_or_the_manifest_changed(
    project, approve, compiled, change
):
    folder = project()
    approve(folder, "add_pet")
    forge(folder, fingerprint="1:of-earlier-rules")
    project(**change)
    assert approve(folder, "--unchanged") == []
    assert state(compiled, folder, "add_pet") == "review_required"


KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
PAY = {"operationId": "settle", "summary": "Settle it", "parameters": [KEY], **OK}
WIPE = {"operationId": "touch", "summary": "Wipe the account and transfer its balance", **OK}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WIPE, {**WIPE, "summary": "Touch"}),
        (PAY, {**PAY, "parameters": []}),
        (PAY, {**PAY, "parameters": [{**KEY, "required": False}]}),
        (PAY, {**PAY, "parameters": [{**KEY, "schema": {"type": "string", "maxLength": 9}}]}),
    ],
)
def test_unchanged_does_not_take_what_the_document_says_otherwise_now(
    project, approve, compiled, before, after
):
    """Whatever inference reads is the document's word, and not Anvil's own rules."""
    folder = project({"/accounts": {"post": before}})
    approve(folder, before["operationId"])
    project({"/accounts": {"post": after}})
    assert state(compiled, folder, before["operationId"]) == "review_required"
    assert approve(folder, "--unchanged") == []
    assert state(compiled, folder, before["operationId"]) == "review_required"


def test_unchanged_takes_one_that_moved_in_the_document(project, approve):
    paths = {"/a": {"get": {"operationId": "a", **OK}}, "/b": {"post": {"operationId": "b", **OK}}}
    folder = project(paths)
    approve(folder, "b")
    forge(folder, fingerprint="1:of-earlier-rules")
    project(dict(reversed(paths.items())))
    assert approve(folder, "--unchanged") == ["pets.b.b"]


def test_unchanged_takes_no_blocked_and_no_new_one(project, approve):
    folder = project()
    approve(folder, "add_pet")
    forge(folder, fingerprint="1:of-earlier-rules")
    project(manifest="operations:\n  addPet: {state: blocked}\n")
    assert approve(folder, "--unchanged") == []


def test_revisions_count_what_changed_and_a_compile_knows_them(project, approve, compiled):
    folder = project()
    assert (compiled(folder).revision, compiled(folder).revision_recorded) == (1, False)
    approve(folder, "get_pet")
    assert written(folder)["revision"]["number"] == 1
    assert (compiled(folder).revision, compiled(folder).revision_recorded) == (1, True)
    approve(folder, "add_pet")
    assert written(folder)["revision"]["number"] == 2
    before = (folder / "approvals.yaml").read_bytes()
    approve(folder, "add_pet")
    assert (folder / "approvals.yaml").read_bytes() == before
    project(manifest="operations:\n  addPet: {risk: high}\n")
    assert (compiled(folder).revision, compiled(folder).revision_recorded) == (3, False)


def test_a_revision_never_falls_when_a_changed_input_is_approved(project, approve, compiled):
    pet = {"name": "pet", "in": "path", "required": True, "schema": {"type": "string"}}
    full = {"name": "full", "in": "query", "schema": {"type": "boolean"}}

    def taking(*parameters):
        return {"/pets/{pet}": {"get": {"operationId": "getPet", "parameters": parameters, **OK}}}

    folder = project(taking(pet))
    approve(folder, "get_pet")
    project(taking(pet, full))
    shown = compiled(folder).revision
    approve(folder, "get_pet")
    assert compiled(folder).revision >= shown == 2
    assert compiled(folder).revision_recorded


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["{folder}"], 2, "usage"),
        (["{folder}", "nope"], 2, "unknown_operation"),
        (["{folder}", "get_pet", "nope"], 2, "unknown_operation"),
        (["{folder}/api.json", "get_pet"], 2, "usage"),
        (["{folder}/none", "get_pet"], 2, "usage"),
        (["{folder}", "deletePet"], 1, "operation_blocked"),
        (["{folder}", "--nope"], 2, "usage"),
        ([], 2, "usage"),
    ],
)
def test_what_is_refused_writes_nothing(project, cli, arguments, exit_code, code):
    folder = project(manifest="operations:\n  deletePet: {state: blocked}\n")
    done = cli("approve", *[one.format(folder=folder) for one in arguments], "--json")
    assert done.returncode == exit_code
    assert [one["code"] for one in json.loads(done.stdout)["problems"]] == [code]
    assert not (folder / "approvals.yaml").exists()


def test_a_name_that_means_two_operations_is_refused(project, cli):
    paths = {"/a": {"get": {"operationId": "first", **OK}}, "/b": {"get": {"operationId": "second", **OK}}}
    renamed = "operations:\n  first: {name: second}\n  second: {name: third}\n"
    folder = project(paths, renamed)
    done = cli("approve", folder, "second")
    assert done.returncode == 2
    assert "is more than one operation" in done.stderr
    assert "pets.a.second" in done.stderr
    assert "pets.b.third" in done.stderr
    assert not (folder / "approvals.yaml").exists()


def test_a_broken_approvals_file_is_left_as_it_is(project, cli):
    folder = project()
    (folder / "approvals.yaml").write_text("operations: [\n", encoding="utf-8")
    done = cli("approve", folder, "--reads")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{folder}/approvals.yaml:2: error: not valid YAML")
    assert (folder / "approvals.yaml").read_text() == "operations: [\n"

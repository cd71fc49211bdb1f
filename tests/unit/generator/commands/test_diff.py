"""``anvil diff`` as a process: bundles, projects and documents; exit code 3 where something is blocking."""

from __future__ import annotations

import json

import pytest

ELSEWHERE = {"servers": [{"url": "https://api.elsewhere.example/v1"}]}


@pytest.fixture
def sides(cli, project, tmp_path):
    """A function: a project with an approval, and a bundle of it."""

    def make(name, manifest="", **top):
        folder = project(manifest=manifest, name=name, **top)
        assert cli("approve", folder, "add_pet", "list_pets").returncode == 0
        assert cli("compile", folder, "--out", tmp_path / f"{name}-bundle").returncode == 0
        return folder, tmp_path / f"{name}-bundle"

    return make


def test_two_bundles_that_are_the_same(cli, sides):
    _, one = sides("one")
    _, other = sides("other")
    done = cli("diff", one, other)
    assert (done.returncode, done.stdout) == (0, "0 blocking, 0 warning, 0 info\n")
    said = json.loads(cli("diff", one, other, "--json").stdout)
    assert said == {
        "ok": True, "approvals_compared": True, "changes": [],
        "counts": {"blocking": 0, "warning": 0, "info": 0},
    }  # fmt: skip


@pytest.mark.parametrize("as_bundle", [True, False])
def test_what_is_blocking_ends_with_3(cli, sides, as_bundle):
    reason = 'operations:\n  addPet: {confirmation: {reason: "Ask\\nAnn."}}\n'
    old = sides("one")[as_bundle]
    new = sides("other", reason, **ELSEWHERE)[as_bundle]
    done = cli("diff", old, new)
    assert done.returncode == 3
    origin, changed, counts = done.stdout.splitlines()
    hosts = '"https://api.pets.example" -> "https://api.elsewhere.example"'
    assert origin == f"blocking  the service: origin changed: {hosts}"
    assert changed.startswith('blocking  pets.pets.add_pet: confirmation.reason changed: "Repeating it')
    assert changed.endswith(' -> "Ask\\nAnn."')
    assert counts == "2 blocking, 0 warning, 0 info"
    said = json.loads(cli("diff", old, new, "--json").stdout)
    assert said["ok"] is False
    assert [one["severity"] for one in said["changes"]] == ["blocking", "blocking"]
    assert said["changes"][0] == {
        "severity": "blocking", "change": "changed", "operation": None, "field": "origin",
        "old": "https://api.pets.example", "new": "https://api.elsewhere.example",
    }  # fmt: skip


def test_a_project_against_the_bundle_that_was_shipped(cli, sides, project):
    folder, bundle = sides("one")
    assert cli("diff", bundle, folder).returncode == 0
    project(manifest="operations:\n  addPet: {risk: high}\n", name="one")
    done = cli("diff", bundle, folder)
    assert done.returncode == 3
    assert 'blocking  pets.pets.add_pet: state changed: "approved" -> "review_required"' in done.stdout
    assert 'warning   pets.pets.add_pet: effect.risk changed: "low" -> "high"' in done.stdout


def test_of_documents_alone_approvals_are_not_compared(cli, sides):
    folder, bundle = sides("one")
    done = cli("diff", bundle, folder / "api.json")
    assert done.returncode == 0, done.stdout
    assert f"Approvals are not compared: {folder / 'api.json'} is a document alone" in done.stdout
    assert (
        json.loads(cli("diff", bundle, folder / "api.json", "--json").stdout)["approvals_compared"] is False
    )


def test_what_is_added_and_removed(cli, sides, project):
    folder, bundle = sides("one")
    (folder / "api.json").write_text(
        (folder / "api.json")
        .read_text()
        .replace('"/refunds"', '"/payouts"')
        .replace("createRefund", "payOut"),
        encoding="utf-8",
    )
    lines = cli("diff", bundle, folder).stdout.splitlines()
    assert 'info      pets.payouts.pay_out: operation added: "pay_out (POST /payouts)"' in lines
    assert 'info      pets.refunds.create_refund: operation removed: "create_refund (POST /refunds)"' in lines


@pytest.mark.parametrize(
    ("old", "new", "exit_code", "code"),
    [
        ("nope", "{bundle}", 2, "no_such_file"),
        ("{bundle}", "{empty}", 2, "no_manifest"),
        ("{broken}", "{bundle}", 1, "not_a_bundle"),
        ("{bundle}", None, 2, "usage"),
    ],
)
def test_failures(cli, sides, tmp_path, old, new, exit_code, code):
    _, bundle = sides("one")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/bundle.json").write_text("{}", encoding="utf-8")
    (tmp_path / "broken/air.json").write_text("{", encoding="utf-8")
    places = {"bundle": bundle, "empty": tmp_path / "empty", "broken": tmp_path / "broken"}
    done = cli("diff", *[one.format(**places) for one in (old, new) if one], "--json")
    assert done.returncode == exit_code
    assert [one["code"] for one in json.loads(done.stdout)["problems"]] == [code]

"""``anvil inspect`` as a process."""

from __future__ import annotations

import json

import pytest


def test_every_operation_with_its_gates_and_state(cli, project, digests):
    folder = project(manifest="operations:\n  addPet: {state: blocked}\n")
    before = digests(folder)
    done = cli("inspect", folder)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in lines[:-1] if not line.startswith(" ")}
    assert rows == {
        "add_pet": ["blocked", "mutation, low, confirm"],
        "create_refund": ["generated", "mutation, financial, confirm, idempotency key"],
        "delete_pet": ["generated", "mutation, destructive, confirm"],
        "get_pet": ["generated", "read"],
        "list_pets": ["generated", "read"],
    }
    assert [line.strip() for line in lines if line.startswith(" ")][:2] == [
        "POST /pets (api.json:25)",
        "why: Repeating it may do it twice: the API gives no way to tell a repeat from a new call.",
    ]
    assert lines[-1].startswith("5 operations in api.json: 5 compiled (4 generated, 1 blocked)")
    assert digests(folder) == before


def test_json_says_what_every_value_rests_on(cli, project):
    done = cli("inspect", project(), "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["ok"], len(said["operations"])) == (0, True, 5)
    (refund,) = [one for one in said["operations"] if one["tool"] == "create_refund"]
    assert refund["contract"]["effect"]["risk"] == "financial"
    assert {"basis", "field", "note"} <= refund["contract"]["evidence"][0].keys()
    assert len(said["accounting"]["compiled"]) == 5


@pytest.mark.parametrize(("target", "exit_code"), [("nope", 2), ("project/anvil.yaml", 1), (None, 2)])
def test_failures(cli, project, target, exit_code):
    project()
    done = cli("inspect", *([target] if target else []), "--json")
    assert done.returncode == exit_code
    assert json.loads(done.stdout)["ok"] is False


def test_the_version_and_the_help(cli):
    assert cli("--version").stdout.strip()
    assert cli("--help").returncode == 0
    assert cli().returncode == 2

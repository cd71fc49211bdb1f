"""``anvil explain``: each gate with the line of the file, or the guess, that it rests on."""

from __future__ import annotations

import json

import pytest

from anvil_generator.bundle import plan
from anvil_generator.commands.explain import GATES, explain
from anvil_generator.errors import Failed
from anvil_generator.files import write_tree

OK = {"responses": {"200": {"description": "ok"}}}
KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/refunds": {
        "post": {"operationId": "createRefund", "parameters": [KEY], "security": [{"key": []}], **OK}
    },
    "/notes": {
        "get": {"operationId": "listNotes", **OK},
        "post": {"operationId": "addNote", "x-reversible": True, **OK},
        "put": {"operationId": "noteIt", "x-reversible": False, **OK},
    },
    "/odd": {"get": {"operationId": "deleteOdd", **OK}},
}
TOP = {
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}, {}],
}


@pytest.fixture
def bundle(project, compiled, tmp_path):
    """A function: (folder of a bundle, lines of the document, lines of the manifest)."""

    def make(manifest="", *, approvals=""):
        folder = project(PATHS, manifest, **TOP)
        if approvals:
            (folder / "approvals.yaml").write_text(approvals, encoding="utf-8")
        out = tmp_path / "out"
        write_tree(out, {file.path: file.data for file in plan(compiled(folder))})
        texts = [(folder / name).read_text().splitlines() for name in ("api.json", "anvil.yaml")]
        return out, *texts

    return make


@pytest.fixture
def gates(capsys):
    """A function: what is said of a tool, by gate."""

    def look(folder, tool):
        explain(folder, tool, as_json=True)
        said = json.loads(capsys.readouterr().out)
        assert said["ok"] is True
        assert [one["gate"] for one in said["gates"]] == list(GATES)
        return {one["gate"]: one for one in said["gates"]}

    return look


def rests_on(gate):
    return gate["rests_on"][0]


@pytest.mark.parametrize("tool", ["create_refund", "list_notes", "add_note", "note_it", "delete_odd"])
def test_every_gate_rests_on_something_that_can_be_found(bundle, gates, tool):
    folder, document, _ = bundle()
    for gate in gates(folder, tool).values():
        assert gate["rests_on"], gate
        for ground in gate["rests_on"]:
            assert ground["note"]
            assert ground["file"] in ("api.json", "anvil.yaml", "approvals.yaml")
            if ground["basis"] in ("guess", "document"):
                assert 0 < ground["line"] <= len(document) or ground["pointer"] is None


def test_what_the_document_says_is_at_its_own_line(bundle, gates):
    folder, document, _ = bundle()
    said = gates(folder, "create_refund")
    key, auth, origin = (rests_on(said[gate]) for gate in ("idempotency_key", "auth", "origin"))
    assert (key["basis"], key["pointer"]) == ("document", "/paths/~1refunds/post/parameters/0")
    assert '"parameters"' in document[key["line"] - 2]
    assert (auth["basis"], auth["pointer"]) == ("document", "/paths/~1refunds/post/security")
    assert '"security"' in document[auth["line"] - 1]
    assert (origin["basis"], origin["pointer"]) == ("document", "/servers/0")
    assert '"url"' in document[origin["line"]]
    assert said["origin"]["value"] == "https://api.pets.example/v1"
    assert rests_on(gates(folder, "list_notes")["auth"])["pointer"] == "/security"
    assert said["idempotency_key"]["value"] == "required, header Idempotency-Key"


@pytest.mark.parametrize(("tool", "value"), [("add_note", "yes"), ("note_it", "no")])
def test_what_the_document_says_of_a_way_back(bundle, gates, tool, value):
    folder, document, _ = bundle()
    gate = gates(folder, tool)["reversible"]
    assert (gate["value"], rests_on(gate)["basis"]) == (value, "document")
    assert '"x-reversible"' in document[rests_on(gate)["line"] - 1]


def test_a_guess_names_the_word_that_it_turns_on(bundle, gates):
    folder, document, _ = bundle()
    said = gates(folder, "create_refund")
    assert {rests_on(said[gate])["basis"] for gate in ("effect", "risk", "reversible", "confirmation")} == {
        "guess"
    }
    assert '"refund"' in rests_on(said["risk"])["note"]
    assert '"create"' in rests_on(said["effect"])["note"]
    assert rests_on(said["risk"])["pointer"] == "/paths/~1refunds/post"
    assert '"post"' in document[rests_on(said["risk"])["line"] - 1]
    assert rests_on(said["confirmation"])["note"].startswith("its risk is financial")


SAID = """\
server: https://other.example
human_approval: none
operations:
  createRefund:
    risk: high
    reversible: true
    retries: never
    confirmation:
      reason: Ask Ann.
      human_approval: true
    loosen: {because: it is known}
  noteIt:
    state: blocked
    idempotency: {mode: none}
    auth: []
    loosen: {because: it is known}
  deleteOdd:
    effect: mutation
"""


@pytest.mark.parametrize(
    ("tool", "gate", "written", "over"),
    [
        ("create_refund", "risk", "risk: high", "guess"),
        ("create_refund", "reversible", "reversible: true", "guess"),
        ("create_refund", "retries", "retries: never", None),
        ("create_refund", "confirmation", "confirmation:", "guess"),
        ("create_refund", "human_approval", "human_approval: true", None),
        ("create_refund", "origin", "server: https", None),
        ("add_note", "human_approval", "human_approval: none", None),
        ("note_it", "state", "state: blocked", None),
        ("note_it", "idempotency_key", "idempotency: ", "guess"),
        ("note_it", "auth", "auth: []", None),
        ("delete_odd", "effect", "effect: mutation", None),
    ],
)
def test_what_the_manifest_says_is_at_its_line(bundle, gates, tool, gate, written, over):
    folder, _, manifest = bundle(SAID)
    found = gates(folder, tool)[gate]["rests_on"]
    assert (found[0]["basis"], found[0]["file"]) == ("manifest", "anvil.yaml")
    assert written in manifest[found[0]["line"] - 1]
    assert [one["basis"] for one in found[1:]] == ([over] if over else []), "and what it went over"


def test_what_a_risk_of_the_manifest_asks_for_rests_on_its_line(bundle, gates):
    folder, _, manifest = bundle("operations:\n  noteIt: {risk: high}\n")
    gate = gates(folder, "note_it")["confirmation"]
    assert gate["value"].startswith("required: It is a high-risk change.")
    assert (rests_on(gate)["basis"], rests_on(gate)["note"][:16]) == ("manifest", "its risk is high")
    assert "risk: high" in manifest[rests_on(gate)["line"] - 1]


def test_the_floor_rests_on_the_guess_that_the_manifest_went_over(bundle, gates):
    entry = "operations:\n  createRefund: {risk: low, reversible: true, loosen: {because: known}}\n"
    gate = gates(bundle(entry)[0], "create_refund")["confirmation"]
    assert (rests_on(gate)["basis"], rests_on(gate)["note"][:21]) == ("guess", "its risk is financial")


@pytest.mark.parametrize(
    ("policy", "tool", "value", "words"),
    [
        ("unsafe", "create_refund", "required", "human_approval: unsafe"),
        ("unsafe", "add_note", "not required", "which is not for this one"),
        ("all", "add_note", "required", "human_approval: all"),
        ("all", "list_notes", "not required", "there is no confirmation"),
    ],
)
def test_the_policy_of_the_service_is_at_its_line(bundle, gates, policy, tool, value, words):
    folder, _, manifest = bundle(f"human_approval: {policy}\n")
    gate = gates(folder, tool)["human_approval"]
    assert (gate["value"], rests_on(gate)["basis"]) == (value, "manifest")
    assert words in rests_on(gate)["note"]
    assert manifest[rests_on(gate)["line"] - 1] == f"human_approval: {policy}"


def test_what_is_said_nowhere_has_no_line(bundle, gates):
    folder, *_ = bundle()
    human = rests_on(gates(folder, "add_note")["human_approval"])
    assert (human["line"], human["note"]) == (None, "human_approval: none, since nothing is said")


APPROVALS = """\
operations:
  pets.refunds.create_refund:
    {fingerprint: "1:%s", source_fingerprint: "1:x", by: Ann, date: "2026-11-30"}
"""


def test_the_states(bundle, gates, cli, tmp_path):
    folder, *_ = bundle(approvals=APPROVALS % "old")
    stale = gates(folder, "create_refund")["state"]
    assert stale["value"] == "review_required"
    assert rests_on(stale) == {
        "basis": "approvals", "file": "approvals.yaml", "line": 2, "pointer": None,
        "note": "changed since it was approved by Ann on 2026-11-30",
    }  # fmt: skip
    assert rests_on(gates(folder, "add_note")["state"]) == {
        "basis": "approvals", "file": "approvals.yaml", "line": None, "pointer": None,
        "note": "nobody has approved it",
    }  # fmt: skip
    odd = gates(folder, "delete_odd")["state"]
    assert (odd["value"], rests_on(odd)["basis"]) == ("review_required", "guess")
    assert '"delete"' in rests_on(odd)["note"]
    assert cli("approve", tmp_path / "project", "createRefund", "--by", "Bob").returncode == 0
    folder, *_ = bundle()
    gate = gates(folder, "create_refund")["state"]
    lines = (tmp_path / "project" / "approvals.yaml").read_text(encoding="utf-8").splitlines()
    assert gate["value"] == "approved"
    assert rests_on(gate)["note"].startswith("approved by Bob on ")
    assert "pets.refunds.create_refund:" in lines[rests_on(gate)["line"] - 1]


@pytest.mark.parametrize(
    "name", ["create_refund", "pets.refunds.create_refund", "createRefund", "mcp__pets__create_refund"]
)
def test_a_tool_by_any_of_its_names(bundle, capsys, name):
    explain(bundle()[0], name)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "create_refund  POST /refunds  (pets.refunds.create_refund)"
    assert "  risk             financial" in lines
    assert len([line for line in lines if not line.startswith("   ")]) == len(GATES)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("create_refnd", "near it: create_refund"),
        ("pets.refunds.create", "near it: create_refund"),
        ("zzzz", "`anvil inspect` lists them"),
        ("", "there is no tool"),
    ],
)
def test_a_tool_that_there_is_not(bundle, name, words):
    with pytest.raises(Failed, match=words) as failed:
        explain(bundle()[0], name)
    assert failed.value.exit_code == 2


def test_the_preview_is_nobody_s_operation(bundle, cli, tmp_path):
    bundle()
    assert cli("approve", tmp_path / "project", "addNote").returncode == 0
    with pytest.raises(Failed, match="Anvil's own tool"):
        explain(bundle()[0], "preview")


def test_no_bundle(tmp_path):
    with pytest.raises(Failed, match=r"air\.json") as failed:
        explain(tmp_path, "x")
    assert failed.value.exit_code == 1


def test_as_a_process(cli, bundle):
    folder, *_ = bundle()
    done = cli("explain", folder, "nope", "--json")
    assert done.returncode == 2
    assert [one["code"] for one in json.loads(done.stdout)["problems"]] == ["unknown_operation"]
    assert cli("explain", folder, "add_note").returncode == 0


def test_the_policy_by_flag_rests_on_the_line_that_is_written(cli, project, tmp_path):
    """So that a compile without the flag gives the same bytes."""
    folder, out = project(PATHS, **TOP), tmp_path / "out"
    assert cli("compile", folder, "--out", out, "--human-approval", "all").returncode == 0
    first = (out / "air.json").read_bytes()
    assert cli("compile", folder, "--out", out).returncode == 0
    assert (out / "air.json").read_bytes() == first

"""Section 5 of the design, a test for each of its sentences, which stands at the test's head.

The rows of each rule, and what is odd, are tested beside the code: ``test_inference``, ``test_contract``,
``test_approvals``, ``test_drift`` and ``commands/test_approve``.
"""

from __future__ import annotations

import json

import pytest
import yaml

from anvil_core import tools
from anvil_generator import inference
from anvil_generator.approvals import FINGERPRINT_VERSION
from anvil_generator.commands.approve import approve as approve_command
from anvil_generator.commands.diff import diff as diff_command
from anvil_generator.drift import changes
from anvil_generator.errors import REFUSED, Failed
from anvil_generator.report import report

OK = {"responses": {"200": {"description": "ok"}}}
KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
BECAUSE = "    loosen: {because: it is known}\n"


@pytest.fixture
def one(project, compiled):
    """A function: the only operation of a document, with these lines in its manifest entry."""

    def make(method="post", path="/things", lines="", top="", **fields):
        entry = f"operations:\n  {method.upper()} {path}:\n{lines}" if lines else ""
        folder = project({path: {method: {**fields, **OK}}}, top + entry)
        (operation,) = compiled(folder).air.operations
        return operation

    return make


@pytest.fixture
def approve(capsys):
    """A function: runs ``anvil approve`` here; what it says."""

    def run(folder, *names, **options):
        approve_command(folder, list(names), by="Ann", **options)
        return capsys.readouterr().out

    return run


def states(made):
    return {operation.name: operation.state for operation in made.air.operations}


# Inference


def test_unknown_is_not_safe(one):
    """Inference is careful: unknown is not safe."""
    made = one("post", "/x/{id}", parameters=[{"name": "id", "in": "path", "required": True, "schema": {}}])
    assert made.effect.kind == "mutation"
    assert made.state == "review_required"
    assert made.confirmation.required
    assert made.effect.reversible is None
    assert tools.hints(made)["destructiveHint"] is True


@pytest.mark.parametrize("method", ["get", "head"])
def test_get_and_head_read(one, method):
    """GET/HEAD read"""
    made = one(method, operationId="things")
    assert (made.effect.kind, made.state) == ("read", "generated")


@pytest.mark.parametrize("said", [{"operationId": "deleteThings"}, {"summary": "Deletes all things"}])
def test_a_get_with_a_verb_of_change_is_for_review(one, said):
    """a GET whose name or summary carries a mutation verb is review_required"""
    assert one("get", **said).state == "review_required"


@pytest.mark.parametrize(
    ("path", "name", "summary", "kind"),
    [
        ("/things", "searchThings", "", "read"),
        ("/things", "cancelByFilter", "", "mutation"),
        ("/find-and-send", "find", "", "mutation"),
        ("/docs/_delete_by_query", "query", "", "mutation"),
        ("/things", "search", "Finds things and archives them", "mutation"),
        ("/things", "things", "Search things", "mutation"),
    ],
)
def test_a_post_is_a_read_only_by_its_name_and_without_a_verb_of_change(one, path, name, summary, kind):
    """A POST is a read only if its name says so and no mutation verb appears anywhere"""
    assert one("post", path, operationId=name, summary=summary).effect.kind == kind


@pytest.mark.parametrize("name", ["openDropdown", "dischargePatient", "movePaymentsTable", "expunged"])
def test_risk_words_match_whole_words(one, name):
    """Risk words match whole words of the split name"""
    risky = one("post", operationId=name).effect.risk in ("financial", "destructive")
    assert risky is (name == "movePaymentsTable")


@pytest.mark.parametrize("name", ["Idempotency-Key", "PayPal-Request-Id"])
def test_a_declared_idempotency_header_is_found(one, name):
    """A declared idempotency header is found."""
    made = one("post", parameters=[{**KEY, "name": name}]).idempotency
    assert (made.mode, made.carrier, made.key) == ("required", "header", name)


@pytest.mark.parametrize("method", ["put", "delete"])
def test_put_and_delete_are_naturally_idempotent(one, method):
    """PUT and DELETE are naturally idempotent."""
    assert one(method).idempotency.mode == "natural"


@pytest.mark.parametrize(
    ("method", "fields", "needed"),
    [
        ("post", {"operationId": "addThing"}, True),
        ("post", {"operationId": "addThing", "parameters": [KEY]}, False),
        ("post", {"operationId": "inviteThing", "parameters": [KEY]}, True),
        ("post", {"operationId": "payThing", "parameters": [KEY]}, True),
        ("delete", {"operationId": "deleteThing"}, True),
        ("put", {"operationId": "putThing"}, False),
        ("put", {"operationId": "putThing", "x-reversible": False}, True),
    ],
)
def test_what_needs_confirmation(one, method, fields, needed):
    """A mutation with no idempotency, or any high, financial, destructive or irreversible mutation"""
    assert one(method, **fields).confirmation.required is needed


def test_reversible_only_where_somebody_says_so(one):
    """Reversible only where the document or the manifest says so."""
    assert one("post", operationId="moveThing", summary="Can be undone").effect.reversible is None
    assert one("post", operationId="moveThing", **{"x-reversible": True}).effect.reversible is True
    assert one("post", lines="    reversible: true\n" + BECAUSE).effect.reversible is True


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_every_value_has_its_evidence(one, method):
    """evidence (what each value rests on: the document, the manifest, or a guess)"""
    made = one(method)
    grounds = {each.field for each in made.evidence}
    assert grounds >= {
        *("effect.kind", "effect.risk", "effect.reversible", "idempotency", "retries"),
        *("confirmation", "confirmation.human_approval", "auth", "state"),
    }
    assert all(each.note for each in made.evidence)


def test_server_variables_are_bound_at_compile_time(project, compiled):
    """base path with all server variables bound at compile time"""
    server = {
        "url": "https://{region}.pets.example/{version}",
        "variables": {"region": {"default": "eu"}, "version": {"default": "v2"}},
    }
    service = compiled(project(servers=[server])).air.service
    assert (str(service.origin), service.base_path) == ("https://eu.pets.example", "/v2")


def test_deprecated_is_still_served_with_a_line_of_context(one):
    """deprecated (bool: still served, with a line of context)"""
    made = one("get", deprecated=True)
    assert (made.deprecated, made.state) == (True, "generated")
    assert "The API has marked it as deprecated." in tools.description(made)


# Manifest


def test_a_project_folder_is_one_with_this_file(project, compiled, problems):
    """a project folder is one with this file; it names the document, the harnesses and human_approval"""
    folder = project(manifest="harnesses: [codex]\nhuman_approval: all\n")
    made = compiled(folder)
    assert [harness.id for harness in made.harnesses] == ["codex"]
    assert made.document.uri == "api.json"
    assert any(operation.confirmation.human_approval for operation in made.air.operations)
    (folder / "anvil.yaml").unlink()
    assert "this folder has no anvil.yaml" in problems(folder)[0]


def test_tightening_always_applies(one):
    """Tightening always applies."""
    lines = "    effect: mutation\n    risk: high\n    reversible: false\n"
    lines += "    confirmation: {required: true, human_approval: true, reason: Ask.}\n    retries: never\n"
    made = one("get", lines=lines)
    assert made.effect.model_dump(exclude={"action"}) == {
        "kind": "mutation",
        "risk": "high",
        "reversible": False,
    }
    assert made.confirmation.human_approval
    assert made.retries == "never"


LOOSENINGS = {
    "dropping a confirmation": ("    confirmation: {required: false}\n", ""),
    "dropping a human approval": ("    confirmation: {human_approval: false}\n", "human_approval: all\n"),
    "mutation -> read": ("    effect: read\n", ""),
    "irreversible -> reversible": ("    reversible: true\n", ""),
    "lowering risk": ("    risk: none\n", ""),
    "unsafe retries on": ("    retries: always\n", ""),
}


@pytest.mark.parametrize("kind", LOOSENINGS)
def test_loosening_needs_a_reason_on_that_operation_and_is_listed(project, compiled, problems, kind):
    """Loosening needs loosen: {because: ...} on that operation and is listed in the report"""
    lines, top = LOOSENINGS[kind]
    paths = {f"/{name}": {"post": {"operationId": name, **OK}} for name in ("set", "other")}
    entry = f"operations:\n  other:\n{BECAUSE}  set:\n{lines}"
    assert "loosen: {because:" in problems(project(paths, top + entry))[0], "a reason elsewhere is none"
    made = report(compiled(project(paths, top + entry + BECAUSE)))["loosened"]
    assert [(each["id"], each["because"]) for each in made] == [("pets.set.set", "it is known")]
    assert made[0]["what"]


@pytest.mark.parametrize(("method", "name"), [("post", "refundIt"), ("delete", "dropIt")])
def test_the_floor_is_of_the_inferred_risk(project, compiled, problems, method, name):
    """a financial or destructive operation keeps its confirmation, also where its risk is lowered."""
    paths = {"/things": {method: {"operationId": name, **OK}}}
    lowered = f"operations:\n  {name}:\n    risk: none\n    reversible: true\n{BECAUSE}"
    made = compiled(project(paths, lowered)).air.operations[0]
    assert (made.effect.risk, made.confirmation.required) == ("none", True)
    dropped = lowered + "    confirmation: {required: false}\n"
    assert "keeps its confirmation" in problems(project(paths, dropped))[0]


PEOPLE = {
    "/plain": {"put": {"operationId": "plain", **OK}},
    "/low": {"post": {"operationId": "low", **OK}},
    "/high": {"post": {"operationId": "invite", **OK}},
    "/money": {"post": {"operationId": "pay", **OK}},
    "/gone": {"delete": {"operationId": "destroy", **OK}},
    "/one-way": {"put": {"operationId": "oneWay", "x-reversible": False, **OK}},
    "/own": {"post": {"operationId": "payOwn", **OK}},
    "/look": {"get": {"operationId": "look", **OK}},
}
UNSAFE = {"invite", "pay", "destroy", "oneWay"}


@pytest.mark.parametrize(
    ("policy", "wanted"), [("none", set()), ("unsafe", UNSAFE), ("all", UNSAFE | {"low"})]
)
def test_the_policy_of_the_service(project, compiled, policy, wanted):
    """touches only operations that already need confirmation and have no explicit value of their own"""
    own = f"operations:\n  payOwn:\n    confirmation: {{human_approval: false}}\n{BECAUSE}"
    made = compiled(project(PEOPLE, f"human_approval: {policy}\n{own}")).air.operations
    assert {each.title for each in made if each.confirmation.human_approval} == wanted


def test_an_explicit_value_wins(project, compiled):
    """an explicit per-operation value wins"""
    own = "operations:\n  plain:\n    confirmation: {human_approval: true}\n"
    made = compiled(project(PEOPLE, f"human_approval: none\n{own}")).air.operations
    assert {each.title for each in made if each.confirmation.human_approval} == {"plain"}


def test_the_flag_is_written_down(cli, project, tmp_path, compiled):
    """also the flag --human-approval, written down so that a recompile keeps it"""
    folder = project(PEOPLE)
    assert cli("compile", folder, "--out", tmp_path / "out", "--human-approval", "unsafe").returncode == 0
    assert yaml.safe_load((folder / "anvil.yaml").read_text())["human_approval"] == "unsafe"
    kept = compiled(folder).air.operations
    assert {each.title for each in kept if each.confirmation.human_approval} >= UNSAFE


# Approvals


def test_an_approval_says_who_when_and_what(project, approve):
    """operation id, fingerprint, who, when, note"""
    folder = project()
    approve(folder, "add_pet", note="looked at it")
    (entry,) = yaml.safe_load((folder / "approvals.yaml").read_text())["operations"].items()
    assert entry[0] == "pets.pets.add_pet"
    assert entry[1]["fingerprint"].startswith(f"{FINGERPRINT_VERSION}:"), "of a versioned list"
    assert (entry[1]["by"], entry[1]["note"], len(entry[1]["date"])) == ("Ann", "looked at it", 10)


def test_reads_takes_every_read_that_nothing_speaks_against(project, approve, compiled):
    """`anvil approve` with fingerprints and `--reads`"""
    odd = {"/odd": {"get": {"operationId": "deleteOdd", **OK}}}
    folder = project({**PEOPLE, **odd})
    approve(folder, reads=True)
    assert {name for name, state in states(compiled(folder)).items() if state == "approved"} == {"look"}


def test_one_that_no_longer_matches_is_for_review(project, approve, compiled):
    """One that no longer matches puts the operation back to review_required"""
    folder = project()
    approve(folder, "add_pet", "list_pets")
    project(manifest="operations:\n  addPet: {risk: high}\n")
    assert states(compiled(folder))["add_pet"] == "review_required"
    assert states(compiled(folder))["list_pets"] == "approved"


def test_an_approval_is_for_what_was_reviewed_and_not_for_the_name(project, approve, compiled):
    """an approval is for what was reviewed, not for the name"""
    paths = {"/a": {"get": {"operationId": "look", "tags": ["x"], **OK}}}
    folder = project(paths)
    approve(folder, "look")
    project({"/b": paths["/a"]})
    assert states(compiled(folder)) == {"look": "review_required"}


def test_unchanged_after_anvil_s_own_inference_changed(project, approve, compiled, monkeypatch):
    """`anvil approve --unchanged` re-approves what is the same in the document, and says what it did"""
    folder = project()
    approve(folder, "add_pet", "list_pets")
    riskier = {**inference.RISK_WORDS, "high": inference.RISK_WORDS["high"] | {"add"}}
    monkeypatch.setattr(inference, "RISK_WORDS", riskier)
    assert states(compiled(folder))["add_pet"] == "review_required"
    said = approve(folder, unchanged=True)
    assert "approved again, since only Anvil's own rules changed pets.pets.add_pet (POST /pets)" in said
    assert "1 newly approved" in said
    assert states(compiled(folder))["add_pet"] == "approved"


def test_unchanged_takes_nothing_that_the_document_changed_as_well(project, approve, compiled, monkeypatch):
    """The same, where it is not the same in the document."""
    paths = {"/a": {"post": {"operationId": "addIt", "summary": "Add it", **OK}}}
    folder = project(paths)
    approve(folder, "add_it")
    riskier = {**inference.RISK_WORDS, "high": inference.RISK_WORDS["high"] | {"add"}}
    monkeypatch.setattr(inference, "RISK_WORDS", riskier)
    paths["/a"]["post"]["summary"] = "Add it, and more"
    project(paths)
    assert "0 newly approved" in approve(folder, unchanged=True)
    assert states(compiled(folder))["add_it"] == "review_required"


# Drift


def test_drift_tells_what_is_added_removed_and_changed_with_a_severity(project, compiled):
    """`anvil diff OLD NEW`: added, removed, changed fields, with severity"""
    old = compiled(project({**PEOPLE})).air
    more = {"/more": {"get": {"operationId": "more", **OK}}}
    less = {path: entry for path, entry in PEOPLE.items() if path != "/low"}
    new = compiled(project({**less, **more}, "operations:\n  plain: {retries: never}\n")).air
    found = {(each.change, each.operation, each.field, each.severity) for each in changes(old, new)}
    assert found == {
        ("added", "pets.more.more", "operation", "info"),
        ("removed", "pets.low.low", "operation", "info"),
        ("changed", "pets.plain.plain", "retries", "warning"),
    }


ASKED = "operations:\n  plain: {confirmation: {required: true, human_approval: true, reason: One.}}\n"
DRIFTS = {
    "origin": ("", "server: https://other.example\n", "origin"),
    "auth": ("", "operations:\n  plain: {auth: [[k]]}\n", "auth"),
    "reason": (ASKED, ASKED.replace("One", "Two"), "confirmation.reason"),
    "removed confirmation": (ASKED, "", "confirmation.required"),
    "removed human approval": (ASKED, ASKED.replace("true, r", "false, r"), "confirmation.human_approval"),
    "removed approval": ("", "operations:\n  plain: {state: blocked}\n", "state"),
}


@pytest.mark.parametrize("case", DRIFTS)
def test_what_is_blocking_ends_with_3(project, approve, capsys, case):
    """changed origin, auth or reason, removed confirmation, human approval or approval: blocking (3)"""
    before, after, field = DRIFTS[case]
    schemes = {"components": {"securitySchemes": {"k": {"type": "http", "scheme": "basic"}}}}
    folders = [
        project(PEOPLE, text, name=name, **schemes) for name, text in (("old", before), ("new", after))
    ]
    for folder in folders:
        if "blocked" not in (folder / "anvil.yaml").read_text():
            approve(folder, "plain")
    with pytest.raises(Exception, match=str(REFUSED)) as ended:
        diff_command(*folders, as_json=True)
    assert ended.value.exit_code == REFUSED
    said = json.loads(capsys.readouterr().out)
    assert field in {each["field"] for each in said["changes"] if each["severity"] == "blocking"}


def test_nothing_of_it_is_loosened_in_silence(project, compiled):
    """Without a reason there is no bundle at all."""
    with pytest.raises(Failed):
        compiled(project(PEOPLE, "operations:\n  invite: {risk: low}\n"))

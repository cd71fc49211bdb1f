"""An approval is for what was reviewed: what the fingerprint sees, what it does not, and the file."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import yaml

from anvil_generator.approvals import (
    Approval,
    Approvals,
    Revision,
    fingerprint,
    read_approvals,
    source_fingerprint,
    with_states,
    without_prose,
    write_approvals,
)
from anvil_generator.errors import Failed
from anvil_generator.sources import FoundOperation

OK = {"responses": {"200": {"description": "ok"}}}
TWIN = {"in": "query", "schema": {"type": "string"}}
BASE = {
    "operationId": "addThing",
    "summary": "Add a thing",
    "parameters": [{"name": "kind", **TWIN}],
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "title": "Thing",
                    "description": "A thing.",
                    "properties": {
                        "title": {"type": "string", "description": "Its title.", "example": "x"},
                        "size": {"type": "integer", "enum": [1, 2]},
                    },
                }
            }
        }
    },
    "security": [{"key": []}],
    **OK,
}
SCHEMES = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}


def schema_of(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def answering(operation, media_type):
    operation["responses"] = {"200": {"description": "ok", "content": {media_type: {}}}}


def retyped(body, media_type):
    body["content"][media_type] = body["content"].pop("application/json")


@pytest.fixture
def review(project, compiled):
    """A function: (fingerprint, mark of what is said) after changes to the document or the manifest."""

    def look(change=None, *, path="/things", method="post", manifest="", schemes=SCHEMES, policy=None, **top):
        operation = copy.deepcopy(BASE)
        if change:
            change(operation)
        folder = project(
            {path: {method: operation}}, manifest, components={"securitySchemes": schemes}, **top
        )
        made = compiled(folder, None, policy)
        (one,) = made.contracted
        service = made.air.service
        return fingerprint(one.operation, service), source_fingerprint(one.found, service, one.said)

    return look


def entry(text):
    return f"operations:\n  addThing: {{{text}}}\n"


SEEN = {
    "method": {"method": "patch"},
    "path": {"path": "/stuff"},
    "origin": {"servers": [{"url": "https://api.other.example/v1"}]},
    "port": {"servers": [{"url": "https://api.pets.example:8443/v1"}]},
    "base path": {"servers": [{"url": "https://api.pets.example/v2"}]},
    "another way to authenticate": {"schemes": {"key": {"type": "http", "scheme": "basic"}}},
    "where the credential goes": {"schemes": {"key": {**SCHEMES["key"], "name": "X-Other"}}},
    "no authentication": {"change": lambda op: op.update(security=[])},
    "a new parameter": {"change": lambda op: op["parameters"].append({"name": "more", **TWIN})},
    "a parameter that is needed": {"change": lambda op: op["parameters"][0].update(required=True)},
    "a parameter of another type": {
        "change": lambda op: op["parameters"][0].update(schema={"type": "integer"})
    },
    "a parameter elsewhere": {"change": lambda op: op["parameters"][0].update({"in": "header"})},
    "a body property": {"change": lambda op: schema_of(op)["properties"].update(new={"type": "string"})},
    "a property named title is gone": {"change": lambda op: schema_of(op)["properties"].pop("title")},
    "a property named description": {
        "change": lambda op: schema_of(op)["properties"].update(description={"type": "string"})
    },
    "a needed property": {"change": lambda op: schema_of(op).update(required=["title"])},
    "a property that needs another": {
        "change": lambda op: schema_of(op).update(dependentRequired={"title": ["size"]})
    },
    "an enumerated value": {"change": lambda op: schema_of(op)["properties"]["size"]["enum"].append(3)},
    "a limit": {"change": lambda op: schema_of(op)["properties"]["title"].update(maxLength=5)},
    "effect": {"manifest": entry("effect: read, loosen: {because: it is}")},
    "risk": {"manifest": entry("risk: high")},
    "reversible": {"manifest": entry("reversible: false")},
    "idempotency": {"manifest": entry("idempotency: {mode: required, carrier: header, key: K}, risk: high")},
    "confirmation": {"manifest": entry("confirmation: {required: false}, loosen: {because: it is}")},
    "reason": {"manifest": entry("confirmation: {reason: Another one.}")},
    "human approval": {"manifest": entry("confirmation: {human_approval: true}")},
    "human approval by policy": {"policy": "all"},
    "retries": {"manifest": entry("retries: safe")},
    "reversible alone": {"manifest": entry("reversible: true, loosen: {because: it is}")},
    "the answer's media type, which is asked for": {
        "change": lambda op: answering(op, "application/vnd.x+json")
    },
    "the body's media type": {"change": lambda op: retyped(op["requestBody"], "application/vnd.x+json")},
}


@pytest.mark.parametrize("change", SEEN)
def test_the_fingerprint_sees(review, change):
    before, after = review(), review(**SEEN[change])
    assert before[0] != after[0]
    assert before[1] != after[1], "and so does what --unchanged compares: nothing of this is Anvil's own"


def test_a_key_s_form_is_seen(review):
    forms = [
        review(
            manifest=entry(f"idempotency: {{mode: required, carrier: header, key: K, {form}}}, risk: high")
        )
        for form in ("form: {min_length: 8}", "form: {min_length: 9}")
    ]
    assert forms[0][0] != forms[1][0]
    assert forms[0][1] != forms[1][1]


def test_a_value_that_nobody_is_asked_for_is_seen(review):
    """A required parameter with one possible value is bound by the compiler, and still sent."""

    def bound(value):
        parameter = {"name": "mode", "in": "query", "required": True, "schema": {"enum": [value]}}
        return review(lambda op: op["parameters"].append(parameter))

    assert bound("fast") == bound("fast") != bound("slow")
    assert bound("fast")[1] != bound("slow")[1]


def test_how_a_field_of_a_form_is_written_is_seen(review):
    def styled(style):
        def change(operation):
            retyped(operation["requestBody"], "application/x-www-form-urlencoded")
            entry_ = operation["requestBody"]["content"]["application/x-www-form-urlencoded"]
            entry_["schema"]["properties"]["tags"] = {"type": "array", "items": {"type": "string"}}
            entry_["encoding"] = {"tags": {"style": style}}

        return review(change)

    assert styled("pipeDelimited") == styled("pipeDelimited")
    assert styled("pipeDelimited")[0] != styled("spaceDelimited")[0]
    assert styled("pipeDelimited")[1] != styled("spaceDelimited")[1]


def another(value):
    """Another value of the same form."""
    match value:
        case bool():
            return not value
        case str():
            return value + "x"
        case tuple():
            return (*value, *value, "x")
        case dict():
            return {**value, "x": "x"}
        case _:
            return value.model_copy(update={"media_type": "x/y"})


@pytest.mark.parametrize(
    "field", [one.name for one in dataclasses.fields(FoundOperation) if one.name != "places"]
)
def test_the_mark_of_what_is_said_sees_all_that_is_found(project, compiled, field):
    """Inference and contract read nothing of the document but this, so that no guess can change unseen."""
    made = compiled(project({"/things": {"post": BASE}}, components={"securitySchemes": SCHEMES}))
    (one,) = made.contracted
    found, service = one.found, made.air.service
    value = found.source.model_copy(update={"operation_id": "x"}) if field == "source" else None
    changed = dataclasses.replace(found, **{field: value or another(getattr(found, field))})
    before, after = (source_fingerprint(each, service, one.said) for each in (found, changed))
    assert before != after


def test_the_mark_of_what_is_said_is_of_no_place(project, compiled):
    made = compiled(project({"/things": {"post": BASE}}))
    (one,) = made.contracted
    source = one.found.source.model_copy(update={"line": 7, "pointer": "/x"})
    assert one.found.places
    moved = dataclasses.replace(one.found, source=source, places={})
    assert source_fingerprint(moved, made.air.service, one.said) == source_fingerprint(
        one.found, made.air.service, one.said
    )


UNSEEN = {
    "summary": {"change": lambda op: op.update(summary="Put a thing there")},
    "description": {"change": lambda op: op.update(description="Long words.")},
    "the schema's title": {"change": lambda op: schema_of(op).update(title="Another")},
    "the schema's description": {"change": lambda op: schema_of(op).update(description="Another.")},
    "a property's description": {
        "change": lambda op: schema_of(op)["properties"]["title"].update(description="Another.")
    },
    "an example": {"change": lambda op: schema_of(op)["properties"]["title"].update(example="y")},
    "the API's title and version": {"info": {"title": "Things", "version": "9"}},
    "the answer": {"change": lambda op: op.update(responses={"201": {"description": "made"}})},
    "another operation's entry": {"manifest": "human_approval: none\n"},
}


@pytest.mark.parametrize("change", UNSEEN)
def test_the_fingerprint_does_not_see(review, change):
    assert review()[0] == review(**UNSEEN[change])[0]


def test_prose_is_taken_out_of_schemas_and_not_out_of_names_or_data():
    schema = {
        "title": "T",
        "properties": {
            "title": {"type": "string", "description": "D"},
            "example": {"enum": [{"title": "kept"}]},
        },
        "$defs": {"description": {"anyOf": [{"examples": [1], "const": {"description": "kept"}}]}},
        "dependentRequired": {"title": ["example"]},
        "default": {"example": "kept"},
    }
    assert without_prose(schema) == {
        "properties": {"title": {"type": "string"}, "example": {"enum": [{"title": "kept"}]}},
        "$defs": {"description": {"anyOf": [{"const": {"description": "kept"}}]}},
        "dependentRequired": {"title": ["example"]},
        "default": {"example": "kept"},
    }


@pytest.fixture
def approve(compiled):
    """A function: approves these operations of a project, by name."""

    def write(folder, *names):
        made = compiled(folder)
        entries = {
            one.id: Approval(
                fingerprint=fingerprint(one, made.air.service),
                source_fingerprint="",
                by="Ann",
                date="2026-11-30",
            )
            for one in made.air.operations
            if one.name in names
        }
        write_approvals(folder / "approvals.yaml", Approvals(operations=entries))
        return entries

    return write


def states(made):
    return {one.name: one.state for one in made.air.operations}


def test_an_approved_operation_is_approved(project, compiled, approve):
    folder = project()
    approve(folder, "add_pet")
    assert states(compiled(folder)) == {
        "add_pet": "approved", "list_pets": "generated", "get_pet": "generated", "delete_pet": "generated",
        "create_refund": "generated",
    }  # fmt: skip


def test_a_changed_one_is_for_review_with_a_warning_at_its_line(project, compiled, approve):
    folder = project()
    approve(folder, "add_pet", "list_pets")
    project(manifest="operations:\n  addPet: {risk: high}\n")
    made = compiled(folder)
    assert states(made)["add_pet"] == "review_required"
    assert states(made)["list_pets"] == "approved"
    (warning,) = [one for one in made.problems if one.code == "approval_stale"]
    line = (folder / "approvals.yaml").read_text().splitlines().index("  pets.pets.add_pet:") + 1
    assert (warning.position.file, warning.position.line) == (str(folder / "approvals.yaml"), line)
    assert warning.severity == "warning"
    assert "was changed since it was reviewed" in warning.message


def test_a_blocked_one_stays_blocked_with_a_warning(project, compiled, approve):
    folder = project()
    approve(folder, "add_pet", "list_pets")
    project(manifest="operations:\n  addPet: {state: blocked}\n")
    made = compiled(folder)
    assert states(made)["add_pet"] == "blocked"
    assert ["is blocked in the manifest" in one.message for one in made.problems] == [True]


def test_one_that_goes_to_another_server_now_is_not_approved(project, compiled, approve):
    home = [{"url": "https://api.pets.example/v1"}]
    paths = {"/a": {"get": {"operationId": "a", "servers": home, **OK}}, "/b": {"get": {**OK}}}
    folder = project(paths)
    approve(folder, "a")
    assert states(compiled(folder))["a"] == "approved"
    paths["/a"]["get"]["servers"] = [{"url": "https://other.pets.example/v1"}, *home]
    project(paths)
    made = compiled(folder)
    assert [one.name for one in made.air.operations] == ["get_b"]
    assert ["is not compiled" in one.message for one in made.problems if "pets.a.a" in one.message] == [True]


def test_one_that_is_gone_is_a_warning(project, compiled, approve):
    folder = project()
    approve(folder, "add_pet", "list_pets")
    project({"/pets": {"get": {"operationId": "listPets", "tags": ["pets"], **OK}}})
    assert [
        "is not compiled: gone from the document" in one.message for one in compiled(folder).problems
    ] == [True]


def test_nothing_approved_is_a_warning(project, compiled):
    assert [one.code for one in compiled(project()).problems] == ["nothing_approved"]


def test_the_approval_of_one_is_not_that_of_another(project, compiled, approve):
    folder = project()
    entries = approve(folder, "list_pets")
    moved = {"pets.pets.get_pet": entries["pets.pets.list_pets"]}
    made = compiled(folder)
    after = {one.name: one.state for one in with_states(made.air.operations, made.air.service, moved)}
    assert after["get_pet"] == "review_required"


def test_the_file_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "approvals.yaml"
    one = Approval(
        fingerprint="1:ab", source_fingerprint="1:cd", by="Ann: Émile", date="2026-11-30", note="# no\n'yes'"
    )
    written = Approvals(revision=Revision(number=3, contract_digest="x"), operations={"b.c": one, "a.b": one})
    write_approvals(path, written)
    first = path.read_bytes()
    assert read_approvals(path)[0] == written
    write_approvals(path, read_approvals(path)[0])
    assert path.read_bytes() == first
    assert list(yaml.safe_load(first)["operations"]) == ["a.b", "b.c"]


def test_no_file_is_no_approval(tmp_path):
    assert read_approvals(tmp_path / "approvals.yaml")[0] == Approvals()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "is empty"),
        ("- a\n", 1, "must be a mapping"),
        ("operations: approved\n", 1, "operations: "),
        ("operations:\n  a.b: approved\n", 2, "operations.a.b: must be a mapping"),
        (
            "operations:\n  a.b: {source_fingerprint: x, by: y, date: z}\n",
            2,
            "operations.a.b.fingerprint: Field required",
        ),
        (
            "operations:\n  a.b:\n    fingerprint: 7\n    source_fingerprint: x\n    by: y\n    date: z\n",
            3,
            "operations.a.b.fingerprint: ",
        ),
        ("revision:\n  number: many\n", 2, "revision.number: "),
        ("operations:\n  a.b: {}\n  a.b: {}\n", 3, "stands twice"),
        ("operations:\n<<<<<<< ours\n", 3, "not valid YAML"),
        ("approved: all\n", 1, "approved: this key is not known"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path, text, line, words):
    path = tmp_path / "approvals.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Failed) as failed:
        read_approvals(path)
    told = [(one.position.file, one.position.line) for one in failed.value.problems if words in one.message]
    assert told == [("approvals.yaml", line)], str(failed.value)


def test_a_date_without_quotes_is_read(tmp_path):
    path = tmp_path / "approvals.yaml"
    path.write_text(
        "operations:\n  a.b: {fingerprint: '1:a', source_fingerprint: '1:b', by: Ann, date: 2026-11-30}\n",
        encoding="utf-8",
    )
    assert read_approvals(path)[0].operations["a.b"].date == "2026-11-30"

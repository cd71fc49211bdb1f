"""What `anvil diff` finds between two contracts, and which of it a person must look at first."""

from __future__ import annotations

import copy

import pytest

from anvil_core.air import Air, Operation, Pagination, Service
from anvil_generator.drift import LEFT_OUT, changes, is_blocking

OK = {"responses": {"200": {"description": "ok"}}}
KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "login": {"type": "http", "scheme": "basic"},
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}}
PATHS = {
    "/pay": {
        "post": {
            "operationId": "pay",
            "tags": ["money"],
            "parameters": [KEY, {"name": "currency", "in": "query", "schema": {"type": "string"}}],
            "requestBody": {
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}
            },
            "security": [{"key": []}],
            **OK,
        }
    },
    "/look": {"get": {"operationId": "look", "tags": ["money"], **OK}},
}


@pytest.fixture
def air(project, compiled):
    """A function: the contract after a change of the document, with these lines in the manifest."""

    def make(change=None, manifest="", *, approved=("pay", "look"), **top):
        paths = copy.deepcopy(PATHS)
        components = copy.deepcopy({"securitySchemes": SCHEMES, "schemas": {"Note": NOTE}})
        if change:
            change(paths, components)
        made = compiled(project(paths, manifest, components=components, **top)).air
        operations = [
            one.model_copy(update={"state": "approved"}) if one.name in approved else one
            for one in made.operations
        ]
        return made.model_copy(update={"operations": tuple(operations)})

    return make


def told(found):
    return {(one.severity, one.change, one.field) for one in found if one.operation != "x"}


def pay(paths):
    return paths["/pay"]["post"]


def entry(text):
    return f"operations:\n  pay: {{{text}}}\n"


ASKED = "confirmation: {human_approval: true}"
LOOSEN = "loosen: {because: known}"
ELSEWHERE = [{"url": "https://api.elsewhere.example/v1"}]

# the old contract, the new one -> the only changes
BLOCKING = {
    "origin": ({}, {"servers": ELSEWHERE}, {"origin"}),
    "the port alone": ({}, {"servers": [{"url": "https://api.pets.example:444/v1"}]}, {"origin"}),
    "the scheme alone": ({}, {"servers": [{"url": "http://api.pets.example:443/v1"}]}, {"origin"}),
    "base path": ({}, {"servers": [{"url": "https://api.pets.example/v2"}]}, {"base_path"}),
    "auth": ({}, {"change": lambda p, _: pay(p).update(security=[{"login": []}])}, {"auth"}),
    "no auth": ({}, {"change": lambda p, _: pay(p).update(security=[])}, {"auth"}),
    "an alternative": (
        {},
        {"change": lambda p, _: pay(p).update(security=[{"key": []}, {"login": []}])},
        {"auth"},
    ),
    "where a credential goes": (
        {},
        {"change": lambda _, c: c["securitySchemes"]["key"].update(name="X-Other")},
        {"auth.key"},
    ),
    "where a credential is read": (
        {},
        {"manifest": "credentials: {key: {env: OTHER_KEY}}\n"},
        {"auth.key"},
    ),
    "reason": (
        {"manifest": entry("confirmation: {reason: One.}")},
        {"manifest": entry("confirmation: {reason: Two.}")},
        {"confirmation.reason"},
    ),
    "human approval": ({"manifest": entry(ASKED)}, {}, {"confirmation.human_approval"}),
    "approval": ({}, {"approved": ("look",)}, {"state"}),
    "blocked": ({}, {"approved": ("look",), "manifest": entry("state: blocked")}, {"state"}),
    "an approved operation is gone": ({}, {"change": lambda p, _: p.pop("/pay")}, {"operation"}),
    "forms of any client": ({}, {"manifest": "approval_elicitation: any\n"}, {"approval_elicitation"}),
    "credentials for this machine": (
        {},
        {"manifest": "loopback_credentials: true\n"},
        {"loopback_credentials"},
    ),
    "another path": ({}, {"change": lambda p, _: p.update({"/pay/2": p.pop("/pay")})}, {"path"}),
}


@pytest.mark.parametrize("case", BLOCKING)
def test_what_is_blocking(air, case):
    old, new, fields = BLOCKING[case]
    found = changes(air(**old), air(**new))
    assert {one.field for one in found if one.severity == "blocking"} == fields
    assert is_blocking(found)


def test_a_confirmation_that_is_gone_is_blocking(air):
    """With a key nothing but the word of the manifest asks for it, so that it can go without a loosening."""
    keyed = {"/set": {"put": {"operationId": "set", **OK}}}

    def only(paths, _):
        paths.clear()
        paths.update(copy.deepcopy(keyed))

    asked = air(only, "operations:\n  set: {confirmation: {required: true}}\n", approved=("set",))
    found = changes(asked, air(only, approved=("set",)))
    assert told(found) == {("blocking", "changed", "confirmation.required")}
    assert told(changes(air(only, approved=("set",)), asked)) == {
        ("warning", "changed", "confirmation.required")
    }


# Everything else that changes what is sent, asked or served.
WARNING = {
    "a new approval": ({"approved": ("look",)}, {}, {("changed", "state")}),
    "a served operation more": (
        {"change": lambda p, _: p.pop("/look")},
        {},
        {("added", "operation")},
    ),
    "human approval asked": ({}, {"manifest": entry(ASKED)}, {("changed", "confirmation.human_approval")}),
    "risk": ({}, {"manifest": entry(f"risk: high, {LOOSEN}")}, {("changed", "effect.risk")}),
    "reversible": (
        {"manifest": entry("confirmation: {reason: R.}")},
        {"manifest": entry(f"confirmation: {{reason: R.}}, reversible: true, {LOOSEN}")},
        {("changed", "effect.reversible")},
    ),
    "retries": ({}, {"manifest": entry("retries: never")}, {("changed", "retries")}),
    "the key's name": (
        {},
        {"change": lambda p, _: pay(p)["parameters"][0].update(name="X-Idempotency-Key")},
        {("changed", "idempotency.key")},
    ),
    "the key's form": (
        {},
        {"change": lambda p, _: pay(p)["parameters"][0]["schema"].update(minLength=9)},
        {("changed", "idempotency.form")},
    ),
    "an argument more": (
        {},
        {"change": lambda p, _: pay(p)["parameters"].append({"name": "x", "in": "query", "schema": {}})},
        {("added", "argument x")},
    ),
    "an argument less": (
        {},
        {"change": lambda p, _: pay(p)["parameters"].pop()},
        {("removed", "argument currency")},
    ),
    "an argument that is needed": (
        {},
        {"change": lambda p, _: pay(p)["parameters"][1].update(required=True)},
        {("changed", "argument currency: required"), ("changed", "argument currency: wire")},
    ),
    "an argument of another type": (
        {},
        {"change": lambda p, _: pay(p)["parameters"][1].update(schema={"type": "integer"})},
        {("changed", "argument currency: schema")},
    ),
    "an argument that goes elsewhere": (
        {},
        {"change": lambda p, _: pay(p)["parameters"][1].update({"in": "header"})},
        {("changed", "argument currency: wire")},
    ),
    "a property of the body": (
        {},
        {"change": lambda _, c: c["schemas"]["Note"]["properties"].update(more={"type": "string"})},
        {("changed", "definition Note: schema")},
    ),
    "a value that is always sent": (
        {},
        {
            "change": lambda p, _: pay(p)["parameters"].append(
                {"name": "mode", "in": "query", "required": True, "schema": {"const": "fast"}}
            )
        },
        {("changed", "constants")},
    ),
    "the trail": ({}, {"manifest": "trail: best_effort\n"}, {("changed", "trail")}),
    "forms of no client": (
        {},
        {"manifest": "approval_elicitation: none\n"},
        {("changed", "approval_elicitation")},
    ),
    "another tool name": (
        {},
        {"manifest": entry("name: settle"), "approved": ("settle", "look")},
        {("changed", "tool")},
    ),
}


@pytest.mark.parametrize("case", WARNING)
def test_what_is_a_warning(air, case):
    old, new, wanted = WARNING[case]
    found = changes(air(**old), air(**new))
    assert {(one.change, one.field) for one in found if one.severity == "warning"} == wanted
    assert not is_blocking(found)


INFO = {
    "words": {"change": lambda p, _: pay(p).update(summary="Pay it")},
    "an argument's words": {"change": lambda p, _: pay(p)["parameters"][1].update(description="ISO 4217")},
    "a schema's words": {"change": lambda _, c: c["schemas"]["Note"].update(description="A note.")},
    "deprecated": {"change": lambda p, _: pay(p).update(deprecated=True)},
    "the answer": {
        "change": lambda p, _: pay(p).update(
            responses={"200": {"description": "ok", "content": {"application/json": {"schema": NOTE}}}}
        )
    },
    "title and version": {"info": {"title": "Others", "version": "9"}},
    "an operation that nobody can call": {
        "change": lambda p, _: p.update({"/new": {"post": {"operationId": "new", **OK}}})
    },
}


@pytest.mark.parametrize("case", INFO)
def test_what_is_told_and_asks_for_nothing(air, case):
    found = changes(air(), air(**INFO[case]))
    assert {one.severity for one in found} == {"info"}


def test_an_operation_that_nobody_approved_may_go(air):
    (one,) = changes(air(approved=("look",)), air(lambda p, _: p.pop("/pay"), approved=("look",)))
    assert (one.severity, one.change, one.field, one.operation) == (
        "info",
        "removed",
        "operation",
        "pets.money.pay",
    )
    assert (one.old, one.new) == ("pay (POST /pay)", None)


def test_the_same_is_no_change(air):
    assert changes(air(), air()) == []


def test_where_it_stands_in_the_document_is_no_change(air):
    def moved(paths, _):
        paths["/pay"] = paths.pop("/pay")

    assert changes(air(), air(moved)) == []


def test_a_renamed_operation_is_the_same_one(air):
    """Another name hides no guard that is gone."""
    old = air(manifest=entry("confirmation: {human_approval: true}"))
    renamed = entry("name: settle")
    found = changes(old, air(manifest=renamed, approved=("settle", "look")))
    assert ("blocking", "changed", "confirmation.human_approval") in told(found)
    assert ("warning", "changed", "tool") in told(found)


def test_two_tools_that_change_places_send_elsewhere(air):
    swapped = "operations:\n  pay: {name: look}\n  look: {name: pay}\n"
    found = changes(air(), air(manifest=swapped))
    assert {one.field for one in found if one.severity == "blocking"} >= {"method", "path"}


def test_without_approvals_states_are_not_compared(air):
    old, new = air(), air(approved=())
    assert is_blocking(changes(old, new))
    assert changes(old, new, states=False) == []
    assert not is_blocking(changes(old, air(lambda p, _: p.pop("/pay")), states=False))


def test_another_service_id_is_one_warning_and_renames_no_operation(air):
    old = air()
    service = old.service.model_copy(update={"id": "other"})
    moved = [one.model_copy(update={"id": one.id.replace("pets.", "other.")}) for one in old.operations]
    found = changes(old, Air(service=service, operations=tuple(moved)))
    assert {(one.severity, one.field) for one in found} == {("warning", "id"), ("info", "id")}


def another(value):
    """Another value of the same kind, so that a comparison must see it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        return {**value, "x": ("y",)}
    if isinstance(value, tuple):
        return (*value, "x")
    return "x" if value is None else f"{value}x"


def fields(model, left_out):
    return sorted(model.model_fields.keys() - left_out)


SAID_OTHERWISE = {"name", "source", "input"}  # each has its own tests above
NO_MEANING = LEFT_OUT - SAID_OTHERWISE


@pytest.mark.parametrize("field", fields(Operation, NO_MEANING | SAID_OTHERWISE))
def test_no_field_of_an_operation_is_overlooked(air, field):
    old = air()
    one = next(each for each in old.operations if each.name == "pay")
    nested = {"effect": "action", "idempotency": "key", "confirmation": "reason", "output": "media_type"}
    value = getattr(one, field)
    models = {"auth": (("key", "login"),), "pagination": Pagination(arguments=("x",))}
    if field in nested:
        inside = another(getattr(value, nested[field]))
        value = value.model_copy(update={nested[field]: inside})
    else:
        value = models.get(field) or another(value)
    others = tuple(each for each in old.operations if each is not one)
    changed = (*others, one.model_copy(update={field: value}))
    found = changes(old, old.model_copy(update={"operations": changed}))
    assert [
        each.field.partition(".")[0] for each in found if each.field != "confirmation.reason"
    ] or field == "confirmation"
    assert found


@pytest.mark.parametrize("field", fields(Service, {"auth", "source", "evidence"}))
def test_no_field_of_the_service_is_overlooked(air, field):
    old = air()
    value = getattr(old.service, field)
    forms = {"trail": "best_effort", "approval_elicitation": "none"}
    wanted = value.model_copy(update={"port": 1}) if field == "origin" else forms.get(field) or another(value)
    found = changes(old, old.model_copy(update={"service": old.service.model_copy(update={field: wanted})}))
    assert [one.field for one in found] == [field]

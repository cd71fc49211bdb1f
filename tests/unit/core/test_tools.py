"""The tool that an operation becomes: schema, hints, words."""

from __future__ import annotations

import copy

import pytest
from support.air import CHANGE, READ, make_air, make_operation, make_refund

from anvil_core import tools
from anvil_core.air import Confirmation, Controls, Effect, Idempotency, KeyForm, Pagination

COMBINATORS = {"oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"}


@pytest.mark.parametrize(
    ("kind", "reversible", "mode", "read_only", "destructive", "idempotent"),
    [
        ("read", None, "natural", True, False, True),
        ("read", None, "none", True, False, False),
        ("mutation", None, "none", False, True, False),
        ("mutation", False, "none", False, True, False),
        ("mutation", True, "none", False, False, False),
        ("mutation", None, "natural", False, True, True),
        ("mutation", True, "key_supported", False, False, True),
        ("mutation", False, "required", False, True, True),
    ],
)
@pytest.mark.invariant("I1")
def test_hints(kind, reversible, mode, read_only, destructive, idempotent):
    """destructiveHint is false for a change only where someone said that it can be undone."""
    operation = make_operation(
        effect=Effect(kind=kind, action="x", risk="low", reversible=reversible),
        idempotency=Idempotency(mode=mode),
    )
    assert tools.hints(operation) == {
        "title": "get_item",
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": False,
    }


def test_the_schema_of_a_plain_read_is_the_documents():
    operation = make_operation()
    assert tools.input_schema(operation) == operation.input.json_schema


@pytest.mark.invariant("I7")
def test_control_arguments_are_added_and_optional():
    schema = tools.input_schema(make_refund())
    assert list(schema["properties"]) == ["idempotency_key", "confirm", "dry_run"]
    assert "required" not in schema
    assert schema["properties"]["confirm"]["type"] == schema["properties"]["dry_run"]["type"] == "boolean"
    assert "It moves money." in schema["properties"]["confirm"]["description"]
    assert schema["additionalProperties"] is False


@pytest.mark.invariant("I7")
def test_the_names_of_control_arguments_come_from_air():
    controls = Controls(
        confirm="anvil_confirm", idempotency_key="anvil_idempotency_key", dry_run="anvil_dry_run"
    )
    operation = make_refund(controls=controls)
    assert set(tools.input_schema(operation)["properties"]) == set(controls.model_dump().values())
    said = " ".join(tools.contract_sentences(operation))
    assert "`anvil_confirm: true`" in said
    assert "`anvil_idempotency_key`" in said


@pytest.mark.parametrize("form", [KeyForm(), KeyForm(min_length=8, max_length=40)])
def test_the_schema_of_a_key(form):
    operation = make_refund(
        idempotency=Idempotency(mode="required", carrier="header", key="Idempotency-Key", form=form)
    )
    key = tools.input_schema(operation)["properties"]["idempotency_key"]
    assert (key["type"], key["minLength"], key["maxLength"]) == ("string", form.min_length, form.max_length)
    assert key["pattern"] == "^[!-~]*$"
    assert key["description"].startswith("Required: a text")


def test_the_schema_of_a_supported_uuid():
    form = KeyForm(format="uuid", min_length=36, max_length=36)
    idempotency = Idempotency(mode="key_supported", carrier="header", key="Idempotency-Key", form=form)
    key = tools.input_schema(make_refund(idempotency=idempotency))["properties"]["idempotency_key"]
    assert key["pattern"].count("[0-9a-fA-F]") == 5
    assert key["description"].startswith("A text")


def test_the_documents_schema_stays_as_it_is():
    """Own arguments stand beside the document's; its schema is not written to, its $defs are kept."""
    shape = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "body": {"$ref": "#/$defs/Node"}},
        "required": ["id"],
        "additionalProperties": False,
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    before = copy.deepcopy(shape)
    base = make_refund()
    operation = base.model_copy(update={"input": base.input.model_copy(update={"json_schema": shape})})
    schema = tools.input_schema(operation)
    assert shape == before
    assert schema["required"] == ["id"]
    assert schema["$defs"] == before["$defs"]
    assert list(schema["properties"]) == ["id", "body", "idempotency_key", "confirm", "dry_run"]
    assert schema["type"] == "object"
    assert not COMBINATORS & set(schema)


def test_human_approval_has_no_control_argument_but_the_key():
    operation = make_refund(
        confirmation=Confirmation(required=True, reason="It moves money.", human_approval=True),
        controls=Controls(idempotency_key="idempotency_key"),
    )
    assert list(tools.input_schema(operation)["properties"]) == ["idempotency_key"]
    assert "A person must approve each call; you cannot. It moves money." in tools.contract_sentences(
        operation
    )


def test_the_preview_takes_the_approved_operations():
    air = make_air(
        make_operation("b_item"), make_operation("a_item"), make_operation("shut", state="blocked")
    )
    schema = tools.preview_schema(air)
    assert schema["properties"]["operation"]["enum"] == ["a_item", "b_item"]
    assert schema["required"] == ["operation", "arguments"]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)


@pytest.mark.parametrize(
    ("reversible", "words"),
    [(True, "can be undone"), (False, "cannot be undone"), (None, "not known to be reversible")],
)
def test_what_is_said_of_a_change(reversible, words):
    operation = make_operation(effect=CHANGE.model_copy(update={"reversible": reversible}))
    assert tools.contract_sentences(operation) == [f"Changes data; risk: low; {words}."]


def test_what_is_said_of_a_plain_read():
    assert tools.contract_sentences(make_operation(effect=READ)) == []
    assert tools.description(make_operation(description="Gets it.")) == "Gets it."
    assert tools.description(make_operation(title="getItem")) == "getItem"


def test_what_else_is_said():
    operation = make_operation(
        deprecated=True,
        long_running=True,
        pagination=Pagination(arguments=("limit", "page")),
        description="Lists.",
    )
    assert tools.description(operation).split("\n\n") == [
        "Lists.",
        "The API has marked it as deprecated.",
        "Pages its results: `limit`, `page`.",
        "May answer before it is ready (202); call it again later.",
    ]


def test_a_supported_key_is_not_called_needed():
    idempotency = Idempotency(mode="key_supported", carrier="header", key="Idempotency-Key", form=KeyForm())
    said = " ".join(tools.contract_sentences(make_refund(idempotency=idempotency)))
    assert "idempotency_key" not in said

"""AIR: values that nothing changes, with no field that nobody knows."""

from __future__ import annotations

import inspect

import pytest
from pydantic import ValidationError
from support.air import make_air, make_operation, make_refund

from anvil_core import air, problems

MODELS = [
    model
    for module in (air, problems)
    for _, model in inspect.getmembers(module, inspect.isclass)
    if issubclass(model, air.Frozen) and model.__module__ == module.__name__
]


@pytest.mark.parametrize("model", MODELS)
def test_frozen_and_closed(model):
    assert model.model_config["frozen"] is True
    assert model.model_config["extra"] == "forbid"


def test_nothing_changes_after_it_was_made():
    operation = make_operation()
    with pytest.raises(ValidationError, match="frozen"):
        operation.state = "approved"
    with pytest.raises(ValidationError, match="frozen"):
        operation.confirmation.required = False


def test_an_unknown_field_is_an_error():
    data = make_operation().model_dump()
    with pytest.raises(ValidationError, match="extra_forbidden"):
        air.Operation.model_validate({**data, "allow": True})
    with pytest.raises(ValidationError, match="extra_forbidden"):
        air.Operation.model_validate({**data, "confirmation": {"required": True, "humanApproval": True}})


@pytest.mark.invariant("I8")
def test_reading_back_what_was_dumped_changes_nothing():
    whole = make_air(make_operation(), make_refund(), preview="preview")
    assert air.Air.model_validate_json(whole.model_dump_json()) == whole
    assert air.Air.model_validate_json(whole.model_dump_json()).model_dump_json() == whole.model_dump_json()


@pytest.mark.parametrize(
    "name", ["Get", "get__item", "_get", "get_", "1get", "get-item", "", "gét", "get\n", "get.item"]
)
def test_names_that_a_harness_would_change_are_refused(name):
    with pytest.raises(ValidationError, match="name"):
        air.Operation.model_validate({**make_operation().model_dump(), "name": name})


@pytest.mark.parametrize(
    "service_id", ["Shop", "shop-", "-shop", "sh--op", "1shop", "", "shop_x", "s" * 17, "shop\n"]
)
def test_service_ids_that_a_harness_would_change_are_refused(service_id):
    with pytest.raises(ValidationError, match="id"):
        make_air(service_id=service_id)


@pytest.mark.parametrize(
    ("scheme", "host", "port", "text"),
    [
        ("https", "api.shop.example", 443, "https://api.shop.example"),
        ("http", "api.shop.example", 80, "http://api.shop.example"),
        ("https", "api.shop.example", 80, "https://api.shop.example:80"),
        ("http", "localhost", 8080, "http://localhost:8080"),
        ("https", "::1", 443, "https://[::1]"),
        ("https", "::1", 8443, "https://[::1]:8443"),
    ],
)
def test_origins(scheme, host, port, text):
    assert str(air.Origin(scheme=scheme, host=host, port=port)) == text


def test_risks_are_in_order():
    assert air.RISKS == ("none", "low", "medium", "high", "financial", "destructive")


@pytest.mark.parametrize(
    ("line", "operation", "text"),
    [
        (7, None, "openapi.yaml:7: error: It is wrong. (code)"),
        (None, "get_item", "openapi.yaml: error: It is wrong. [get_item] (code)"),
    ],
)
def test_problems_as_text(line, operation, text):
    position = problems.Position(file="openapi.yaml", line=line)
    problem = problems.Problem(
        severity="error", code="code", message="It is wrong.", position=position, operation=operation
    )
    assert str(problem) == text

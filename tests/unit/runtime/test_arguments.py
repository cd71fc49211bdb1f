from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from anvil_runtime.arguments import Validators, problems


@pytest.fixture
def said(operation):
    """The problems of a refund's arguments as {argument: problem}."""

    def check(args, **changes):
        found = problems(operation(**changes), args, Validators())
        return {need["argument"]: need["problem"] for need in found}

    return check


def test_arguments_that_fit(said, full):
    assert said(full) == {}


def test_everything_at_once_each_with_its_path(said):
    assert said({"chargee": "x", "expand": ["a", 5], "body": {"amount": "5", "nota": 1}}) == {
        "charge": "missing.",
        "chargee": "is not an argument of this operation. Leave it out.",
        "expand[1]": "must be a string, not the number 5.",
        "body.amount": 'must be an integer, not the string "5".',
        "body.nota": "is not an argument of this operation. Leave it out.",
    }


def test_types_and_examples_come_from_the_schema(operation):
    found = {need["argument"]: need for need in problems(operation(), {"body": {}}, Validators())}
    assert found["body.amount"] == {
        "argument": "body.amount",
        "type": "integer",
        "problem": "missing.",
        "example": 1,
    }
    assert found["charge"]["type"] == "string"


def test_enums_and_bounds(said, operation):
    assert said({"charge": "c", "body": {"amount": 0}}) == {
        "body.amount": "does not fit: 0 is less than the minimum of 1."
    }


def test_anvils_own_arguments_are_left_to_their_gates(said, full):
    assert said({**full, "confirm": "yes", "idempotency_key": 7, "dry_run": "no"}) == {}


def test_an_argument_of_anvils_that_the_operation_does_not_take_is_unknown(said, full):
    controls = {"idempotency_key": "idempotency_key", "dry_run": "dry_run"}
    assert list(said(full, controls=controls)) == ["confirm"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"deep": "\udfff"}])
def test_what_json_cannot_say_is_refused_before_any_schema(said, full, value):
    assert list(said({**full, "charge": value})) == ["(all)"]


def test_many_problems_are_counted(said):
    found = said({f"x{index:02d}": 1 for index in range(40)})
    assert len(found) == 21
    assert found["(others)"] == "22 more problems."


def test_unknown_arguments_are_refused_also_where_the_schema_does_not_say_so(operation):
    found = problems(operation("charge_get"), {"charge": "x", "confirm": True}, Validators())
    assert [need["argument"] for need in found] == ["confirm"]


def test_a_schema_never_fetches():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        made = threading.Thread(
            target=_compile, args=({"$ref": f"http://127.0.0.1:{port}/x.json"},), daemon=True
        )
        made.start()
        with pytest.raises(TimeoutError):
            listener.accept()


def _compile(schema):
    with contextlib.suppress(Exception):
        Validators().get("x", schema)

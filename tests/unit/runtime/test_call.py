from __future__ import annotations

import pytest

import hookcore
from anvil_runtime.call import ArgumentFormError, call, read_arguments


@pytest.mark.parametrize(
    ("name", "args", "code", "exit_code"),
    [
        ("refund_create", {"charge": "x", "body": {"amount": 1}, "dry_run": True}, None, 0),
        ("shop.refunds.create", {"charge": "x", "body": {"amount": 1}, "dry_run": True}, None, 0),
        ("shop.refunds.create", {"charge": "x", "body": {"amount": 1}}, "confirmation_required", 3),
        ("charge_scrub", {}, "operation_not_approved", 3),
        ("nope", {}, "unknown_operation", 3),
        ("charge_get", {"charge": "x"}, "upstream_error", 1),
    ],
)
def test_the_envelope_and_the_exit_code(bundle_folder, name, args, code, exit_code):
    # Port 9 of this machine (discard): nobody listens there.
    envelope, ended = call(bundle_folder, name, args, environ={"ANVIL_BASE_URL": "http://127.0.0.1:9"})
    assert (envelope.get("error", {}).get("code"), ended) == (code, exit_code)


def test_a_bundle_that_cannot_be_read(tmp_path):
    envelope, ended = call(tmp_path, "charge_get", {})
    assert (envelope["error"]["code"], ended) == ("catalog_unusable", 1)
    assert "air.json" in envelope["error"]["message"]
    assert envelope["error"]["message"].count(hookcore.MEND) == 1


def test_arguments_of_a_command_line(operation):
    pairs = ["charge=0017", 'body={"amount": 5}', "confirm=true", "expand=a=b", "idempotency_key=12345678"]
    assert read_arguments(operation(), pairs, '{"charge": "x", "dry_run": true}') == {
        "charge": "0017",
        "body": {"amount": 5},
        "confirm": True,
        "expand": "a=b",
        "idempotency_key": "12345678",
        "dry_run": True,
    }


@pytest.mark.parametrize(("pairs", "json_text"), [(["x"], None), (["=x"], None), ([], "{"), ([], "[1]")])
def test_arguments_that_cannot_be_read(operation, pairs, json_text):
    with pytest.raises(ArgumentFormError):
        read_arguments(operation(), pairs, json_text)

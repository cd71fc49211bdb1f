from __future__ import annotations

import io
import json

import pytest

import hookcore
from anvil_runtime.bundle import load
from anvil_runtime.call import ArgumentFormError, Wish, call, call_as_wished, read_arguments, schema_of


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


def schema(bundle_folder, name="refund_create"):
    return schema_of(load(bundle_folder), name)


def test_arguments_of_a_command_line(bundle_folder):
    pairs = ["charge=0017", 'body={"amount": 5}', "confirm=true", "expand=a=b", "idempotency_key=12345678"]
    assert read_arguments(schema(bundle_folder), pairs, '{"charge": "x", "dry_run": true}') == {
        "charge": "0017",
        "body": {"amount": 5},
        "confirm": True,
        "expand": "a=b",
        "idempotency_key": "12345678",
        "dry_run": True,
    }


@pytest.mark.parametrize(
    ("pairs", "text", "said"),
    [
        (["x"], None, "NAME=VALUE"),
        (["=x"], None, "NAME=VALUE"),
        (["charge=a", "charge=b"], None, "twice"),
        ([], "{", "not JSON"),
        ([], "[1]", "must be an object"),
        ([], '{"body": {"amount": 5, "amount": 500}}', '"amount" is there twice'),
        ([], "[" * 100_000, "not JSON"),
        ([], "@/nowhere/args.json", "No such file"),
    ],
)
def test_arguments_that_cannot_be_read(bundle_folder, pairs, text, said):
    with pytest.raises(ArgumentFormError, match=said):
        read_arguments(schema(bundle_folder), pairs, text)


def test_arguments_from_a_file_and_from_the_input(bundle_folder, tmp_path, monkeypatch):
    file = tmp_path / "args.json"
    file.write_text('{"charge": "ch_1"}', encoding="utf-8")
    assert read_arguments(schema(bundle_folder), ["confirm=true"], f"@{file}") == {
        "charge": "ch_1",
        "confirm": True,
    }
    monkeypatch.setattr("sys.stdin", io.StringIO('{"charge": "ch_2"}'))
    assert read_arguments(schema(bundle_folder), [], "@-") == {"charge": "ch_2"}


def wish(bundle_folder, operation, *pairs, dry_run=False):
    return call_as_wished(bundle_folder, Wish(operation, pairs, None, dry_run))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("refund_create", {"amount": 1}),
        ("payout_create", {"amount": 1}),
        ("shop.payouts.create", {"amount": 1}),
    ],
)
def test_a_dry_run_of_any_mutation(bundle_folder, name, body):
    said, code = wish(bundle_folder, name, "charge=ch_1", f"body={json.dumps(body)}", dry_run=True)
    assert (said["sends"], code) == (False, 0)
    assert said["request"]["url"].endswith("ch_1/refunds")


def test_a_dry_run_of_a_read_goes_through_the_preview(bundle_folder):
    said, code = wish(bundle_folder, "charge_get", "charge=ch_1", dry_run=True)
    assert (said["sends"], code) == (False, 0)


def test_a_dry_run_of_what_may_not_be_called_shows_nothing(bundle_folder):
    said, code = wish(bundle_folder, "charge_scrub", "charge=ch_1", dry_run=True)
    assert (said["error"]["code"], code) == ("operation_not_approved", 3)


def test_a_dry_run_that_contradicts_itself(bundle_folder):
    with pytest.raises(ArgumentFormError, match="different things"):
        wish(bundle_folder, "refund_create", "dry_run=false", dry_run=True)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("refund_creat", ["refund_create"]),
        ("Refund-Create", ["refund_create"]),
        ("shop.refund.create", ["refund_create"]),
        ("zzzzzz", []),
    ],
)
def test_an_unknown_name_is_told_what_is_near(bundle_folder, wrong, right):
    said, code = wish(bundle_folder, wrong)
    assert (said["error"]["code"], code) == ("unknown_operation", 3)
    assert said["near"][:1] == right
    assert "charge_scrub" not in said["near"]

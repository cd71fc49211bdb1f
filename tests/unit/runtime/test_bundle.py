from __future__ import annotations

import json
from importlib import metadata

import pytest

from anvil_runtime.bundle import BundleError, load


def test_a_bundle_holds_every_operation_and_serves_the_approved(bundle_folder):
    bundle = load(bundle_folder)
    assert sorted(bundle.by_name) == ["charge_get", "charge_scrub", "payout_create", "refund_create"]
    assert [operation.name for operation in bundle.served] == ["charge_get", "payout_create", "refund_create"]
    assert bundle.by_id["shop.refunds.create"].name == "refund_create"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: "", "not JSON, or is cut short"),
        (lambda text: text[:500], "not JSON, or is cut short"),
        (lambda _: "[]", "not a contract that Anvil wrote"),
        (
            lambda text: text.replace('"anvil": 1', '"anvil": 2'),
            "another version of Anvil wrote it: its format is 2",
        ),
        (lambda text: text.replace('"financial"', '"huge"'), r"at operations\.2\.effect\.risk"),
    ],
)
def test_a_contract_that_cannot_be_used_says_what_and_where_and_what_to_do(bundle_folder, change, said):
    file = bundle_folder / "air.json"
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(BundleError, match=said) as error:
        load(bundle_folder)
    assert str(file) in str(error.value)
    assert "compile it again" in str(error.value)


def test_a_missing_contract(tmp_path):
    with pytest.raises(BundleError, match=r"air\.json: No such file"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ('{"compiler": "7.8.9"}', "7.8.9"),
        ('{"compiler": 7}', metadata.version("anvil-runtime")),
        ("{", metadata.version("anvil-runtime")),
        (None, metadata.version("anvil-runtime")),
    ],
)
def test_the_version_is_that_of_the_compiler_or_of_the_installed_package(bundle_folder, listed, wanted):
    (bundle_folder / "bundle.json").unlink()
    if listed is not None:
        (bundle_folder / "bundle.json").write_text(listed, encoding="utf-8")
    assert load(bundle_folder).compiler == wanted


def test_a_contract_comes_back_as_it_was(bundle_folder, contract):
    assert load(bundle_folder).air == contract()
    assert json.loads((bundle_folder / "air.json").read_text(encoding="utf-8"))["anvil"] == 1


def test_the_clients_are_those_of_the_bundle(bundle_folder):
    (client,) = load(bundle_folder).clients.clients
    assert (client.name, client.decline) == ("careful-cli", "person")


@pytest.mark.parametrize(
    "text", [None, "", "[]", '{"anvil": 2, "clients": []}', '{"clients": [{"name": "x"}]}']
)
def test_without_a_list_of_clients_none_is_known_and_the_log_says_so(bundle_folder, capfd, text):
    file = bundle_folder / "mcp" / "clients.json"
    file.unlink()
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert load(bundle_folder).clients.clients == ()
    assert str(file) in capfd.readouterr().err

"""What ``doctor`` says of the state folder and of credentials."""

from __future__ import annotations

import pytest

from anvil_runtime import health
from anvil_runtime.bundle import Bundle

SCHEME = {"id": "key", "kind": "api_key", "name": "X-Key", "location": "header",
          "sources": [{"part": "value", "env": "SHOP_KEY"}]}  # fmt: skip


@pytest.fixture
def bundle(contract):
    return Bundle(contract("refund_create", service={"auth": [SCHEME]}, auth=[["key"]]))


def test_a_state_folder_is_made(bundle, tmp_path):
    assert health.state_folder(bundle, tmp_path / "state") == str(tmp_path / "state")
    assert (tmp_path / "state").is_dir()


def test_a_state_folder_that_others_can_open(bundle, tmp_path):
    (tmp_path / "state").mkdir(mode=0o755)
    with pytest.raises(health.TroubleError, match="chmod 700"):
        health.state_folder(bundle, tmp_path / "state")


def test_a_state_folder_inside_the_working_folder(bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(health.TroubleError, match="inside the working folder"):
        health.state_folder(bundle, tmp_path / "state")


def test_a_credential_that_is_missing_is_named(bundle):
    with pytest.raises(health.TroubleError, match=r"1 of 3 operations cannot be called: .*SHOP_KEY"):
        health.credentials(bundle, {})


def test_a_credential_that_is_there(bundle):
    said = health.credentials(bundle, {"SHOP_KEY": "a-long-enough-secret"})
    assert said == "1 of 3 operations ask for one, and each has it"


def test_an_address_that_is_refused(bundle):
    with pytest.raises(health.TroubleError):
        health.credentials(bundle, {"ANVIL_BASE_URL": "http://evil.example"})

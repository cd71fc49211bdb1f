"""Which client a call comes from, as far as the client's own word goes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from anvil_core.clients import Client, Clients, is_at_least

SIGN = {"meta": "x-turn", "field": "trigger", "values": ["batch"]}
ONE = Client(
    harness="one", title="One", name="one-cli", minimum="2.1.9", call_id=("one/id",), unattended=[SIGN]
)
TWO = Client(harness="two", title="Two", name="two-cli", minimum="0.1.0", call_id=("callId",))
KNOWN = Clients(clients=(ONE, TWO))


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("one-cli", "2.1.9", ONE),
        ("one-cli", "2.1.10", ONE),
        ("one-cli", "10.0.0", ONE),
        ("two-cli", "0.1.0", TWO),
        ("one-cli", "2.1.8", None),
        ("one-cli", "2.1", None),
        ("one-cli", None, None),
        ("one-cli ", "2.1.9", None),
        ("One-CLI", "2.1.9", None),
        (None, None, None),
        ("other", "99.0.0", None),
    ],
)
def test_a_client_is_known_by_its_name_from_its_lowest_version_on(name, version, found):
    assert KNOWN.find(name, version) == found


@pytest.mark.parametrize(
    "version", ["", "3", "3.0.0-alpha.1", "v3.0.0", "3.0.0\n", "٣.0.0", "9" * 5000 + ".0.0"]
)
def test_a_version_of_another_form_is_below_every_floor(version):
    assert not is_at_least(version, "0.0.0")


def test_the_id_of_a_call_is_under_a_key_that_a_known_client_uses():
    assert KNOWN.call_id({"callId": "b", "one/id": "a"}) == "a"
    assert KNOWN.call_id({"callId": "b"}) == "b"
    assert [KNOWN.call_id(meta) for meta in ({}, {"callId": 5}, {"callId": ""}, {"id": "x"})] == [None] * 4
    assert Clients().call_id({"callId": "b"}) is None


@pytest.mark.parametrize(
    ("meta", "unattended"),
    [
        ({"x-turn": {"trigger": "batch"}}, True),
        ({"x-turn": {"trigger": "user"}}, False),
        ({"x-turn": "batch"}, False),
        ({}, False),
    ],
)
def test_a_call_may_say_that_nobody_attends(meta, unattended):
    assert ONE.is_unattended(meta) is unattended
    assert not TWO.is_unattended(meta)


def test_what_is_not_said_is_taken_for_nothing():
    assert (TWO.decline, TWO.cancel, TWO.proof, TWO.tool_meta) == ("unknown", "unknown", "nothing", {})
    with pytest.raises(ValidationError):
        Client(harness="x", title="X", name="x", minimum="1.0.0", decline="maybe")

"""What a person is shown: bounded, visible, without a secret, in the contract's words."""

from __future__ import annotations

import pytest

from anvil_runtime import asking
from anvil_runtime.redaction import MARK, Secrets


@pytest.fixture
def question(contract, operation):
    """A function: the question about a refund with these arguments."""

    def make(args, secrets=None):
        return asking.confirmation_question(contract(), operation(), args, secrets or Secrets())

    return make


def test_the_form_has_one_required_choice_and_the_no_comes_first(question):
    schema = question({"charge": "ch_1"}).schema
    assert schema["required"] == list(schema["properties"]) == [asking.FIELD]
    field = schema["properties"][asking.FIELD]
    assert (field["type"], field["enum"]) == ("string", ["no", "yes"])
    assert "default" not in field


def test_the_message_says_what_is_sent_and_why_it_is_asked(question):
    assert question({"charge": "ch_1", "body": {"amount": 5}}).message.splitlines() == [
        "Shop: refund_create",
        "Refund a charge. Risk: financial; it cannot be undone. Money leaves the account.",
        "Arguments:",
        '  charge: "ch_1"',
        '  body: {"amount": 5}',
        "Send it once?",
    ]


@pytest.mark.parametrize(
    "args",
    [
        {f"a{number}": number for number in range(500)},
        {"long": "x" * 100_000},
        {f"a{number}": "x" * 1000 for number in range(40)},
        {"lines": "\n" * 400},
        {"n" * 5000: 1},
    ],
)
def test_it_fits_a_terminal_and_counts_what_it_leaves_out(question, args):
    text = question(args).message
    assert sum(asking.rows(line) for line in text.split("\n")) <= asking.ROWS
    assert text.endswith("Send it once?")
    assert "more" in text


@pytest.mark.parametrize("sign", ["\x1b", "\r", "\u202e", "\u200b", "\u2028", "\ufeff", "\x85", "\ue000"])
def test_no_character_is_hidden_or_moves_others(question, sign):
    text = question({f"na{sign}me": f"5{sign}6"}).message
    assert sign not in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_known_secret_is_not_shown(question):
    secrets = Secrets()
    secrets.add("sk-canary-4711")
    text = question({"charge": "sk-canary-4711"}, secrets).message
    assert "canary" not in text
    assert MARK in text

"""A confirmation that a person gives: when one is asked, and what each answer does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anvil_core.clients import Client, Clients
from anvil_runtime.asking import FIELD
from anvil_runtime.bundle import Bundle
from anvil_runtime.caller import Caller, Reply
from anvil_runtime.execute import execute

YES, NO = Reply("accept", {FIELD: "yes"}), Reply("accept", {FIELD: "no"})
SIGN = {"meta": "x-turn", "field": "trigger", "values": ["batch"]}


class Person:
    """Stands for whoever answers the forms: remembers the questions, and answers as told."""

    def __init__(self, *replies):
        self.questions, self.replies = [], list(replies)

    def __call__(self, question):
        self.questions.append(question)
        return self.replies.pop(0)


def caller(person, **facts):
    return Caller("mcp", client="careful-cli", version="1.0.0", ask=person, **facts)


@pytest.fixture
def asked(executor):
    """A function: an executor that knows one client, with these meanings of its answers."""

    def make(name="", *, decline="person", cancel="not_approved", **changes):
        one = executor(name, **changes)
        client = Client(
            harness="careful", title="Careful", name="careful-cli", minimum="1.0.0",
            decline=decline, cancel=cancel, unattended=[SIGN],
        )  # fmt: skip
        return replace(one, bundle=Bundle(one.bundle.air, clients=Clients(clients=(client,))))

    return make


@pytest.fixture
def unconfirmed(full):
    return {name: value for name, value in full.items() if name != "confirm"}


def test_a_yes_sends_the_call_once(asked, upstream, unconfirmed):
    person = Person(YES)
    outcome = execute(asked(), "refund_create", unconfirmed, caller(person))
    assert outcome.refusal is None
    assert len(upstream.plans) == len(person.questions) == 1


def test_a_yes_is_for_one_call(asked, upstream, unconfirmed):
    person, one = Person(YES, Reply("cancel")), asked()
    execute(one, "refund_create", unconfirmed, caller(person))
    second = {**unconfirmed, "idempotency_key": "key-0002"}
    assert execute(one, "refund_create", second, caller(person)).refusal.code == "confirmation_required"
    assert len(upstream.plans) == 1


def test_a_confirmation_in_the_arguments_asks_nobody(asked, upstream, full):
    person = Person()
    assert execute(asked(), "refund_create", full, caller(person)).refusal is None
    assert (len(upstream.plans), person.questions) == (1, [])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"idempotency_key": None}, "confirmation_required"),
        ({"idempotency_key": "short"}, "confirmation_required"),
        ({"body": {"amount": "x"}}, "invalid_arguments"),
        ({"body": {"amount": 2**60}}, "confirmation_required"),
        ({"dry_run": "true"}, "invalid_arguments"),
    ],
)
def test_nobody_is_asked_while_anything_else_is_missing(asked, upstream, unconfirmed, change, code):
    changed = {name: value for name, value in {**unconfirmed, **change}.items() if value is not None}
    person = Person()
    assert execute(asked(), "refund_create", changed, caller(person)).refusal.code == code
    assert (upstream.plans, person.questions) == ([], [])


def test_nobody_is_asked_for_want_of_a_credential(asked, unconfirmed):
    person = Person()
    one = asked("refund_create", auth=[["key"]])
    assert execute(one, "refund_create", unconfirmed, caller(person)).refusal.code == "auth_required"
    assert person.questions == []


def test_a_dry_run_asks_nobody(asked, unconfirmed):
    person = Person()
    shown = execute(asked(), "refund_create", {**unconfirmed, "dry_run": True}, caller(person))
    assert shown.envelope["sends"] is False
    assert person.questions == []


def test_nobody_is_asked_where_the_call_says_that_nobody_attends(asked, unconfirmed):
    person = Person()
    refusal = execute(
        asked(), "refund_create", unconfirmed, caller(person, meta={"x-turn": {"trigger": "batch"}})
    ).refusal
    assert (refusal.code, person.questions) == ("confirmation_required", [])
    assert "could not be asked" in refusal.message


def test_an_operation_for_a_person_is_not_confirmed_by_a_form(asked, upstream, unconfirmed):
    person = Person()
    refusal = execute(asked(), "payout_create", unconfirmed, caller(person)).refusal
    assert (refusal.code, person.questions, upstream.plans) == ("human_approval_required", [], [])


@pytest.mark.parametrize("no", [NO, Reply("decline")])
def test_a_person_s_no_closes_the_call_for_the_session(asked, upstream, unconfirmed, no):
    person, one = Person(no), asked()
    assert execute(one, "refund_create", unconfirmed, caller(person)).refusal.code == "approval_declined"
    for again in ({}, {"confirm": True}, {"idempotency_key": "key-0002"}, {"body": {"amount": 5.0}}):
        changed = {**unconfirmed, **again}
        refusal = execute(one, "refund_create", changed, caller(person)).refusal
        assert refusal.code == "approval_declined", again
        assert refusal.retryable is False
    assert (len(person.questions), upstream.plans) == (1, [])


def test_a_no_closes_that_call_alone(asked, upstream, unconfirmed):
    person, one = Person(NO, YES), asked()
    execute(one, "refund_create", unconfirmed, caller(person))
    other = {**unconfirmed, "body": {"amount": 6}}
    assert execute(one, "refund_create", other, caller(person)).refusal is None
    assert len(upstream.plans) == 1


def test_a_no_to_the_same_call_meanwhile_counts_against_a_yes(asked, upstream, unconfirmed):
    one = asked()

    def both(question):
        execute(one, "refund_create", unconfirmed, caller(Person(NO)))
        return YES

    refusal = execute(one, "refund_create", unconfirmed, caller(both)).refusal
    assert (refusal.code, upstream.plans) == ("approval_declined", [])


@pytest.mark.parametrize(
    "reply",
    [
        Reply("cancel"),
        Reply("unanswered"),
        Reply("accept"),
        Reply("accept", {FIELD: "YES"}),
        Reply("accept", {FIELD: True}),
        Reply("accept", {FIELD: ["yes"]}),
        Reply("accept", {"confirm": True}),
    ],
)
def test_anything_else_is_the_refusal_that_names_the_argument(asked, upstream, unconfirmed, full, reply):
    one = asked()
    refusal = execute(one, "refund_create", unconfirmed, caller(Person(reply))).refusal
    assert (refusal.code, [need["argument"] for need in refusal.required]) == (
        "confirmation_required",
        ["confirm"],
    )
    assert upstream.plans == []
    assert execute(one, "refund_create", full, caller(Person())).refusal is None, "it is not closed"


@pytest.mark.parametrize(
    ("meaning", "said"),
    [
        ("not_asked", "could not be asked"),
        ("not_approved", "not approved"),
        ("unknown", "declined, or never shown"),
    ],
)
def test_a_decline_means_what_is_known_of_the_client(asked, unconfirmed, meaning, said):
    refusal = execute(
        asked(decline=meaning), "refund_create", unconfirmed, caller(Person(Reply("decline")))
    ).refusal
    assert refusal.code == "confirmation_required"
    assert said in refusal.message


@pytest.mark.parametrize(
    ("client", "version"), [("other-cli", "1.0.0"), ("careful-cli", "0.9.0"), (None, None)]
)
def test_a_decline_of_an_unknown_client_is_nobody_s_no(asked, unconfirmed, client, version):
    one = asked()
    who = Caller("mcp", client=client, version=version, ask=Person(Reply("decline")))
    assert execute(one, "refund_create", unconfirmed, who).refusal.code == "confirmation_required"


def test_without_a_way_to_ask_the_argument_is_named_as_ever(asked, unconfirmed):
    with_form = execute(asked(), "refund_create", unconfirmed, Caller("mcp")).refusal
    assert with_form.code == "confirmation_required"
    assert "asked about it" not in with_form.message

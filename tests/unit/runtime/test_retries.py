"""Which calls are sent again by themselves: never where a second time could do more than one."""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass, field, replace

import pytest

from anvil_runtime import retries
from anvil_runtime.caller import Caller
from anvil_runtime.client import Answer, BrokenError, NotSentError, OriginChangedError, TimedOutError
from anvil_runtime.execute import execute
from anvil_runtime.retries import BUDGET_SECONDS, MOST_TRIES, Pace, delay

FINE = Answer(200, "OK", "application/json", b'{"id": "re_1"}')
BUSY = Answer(503, "Busy", "text/plain", b"")
SLOW_DOWN = Answer(429, "Slow down", "text/plain", b"", retry_after="2")
GATEWAY = Answer(502, "Bad gateway", "text/plain", b"")


@dataclass
class Clock:
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def pace(self) -> Pace:
        return Pace(self.sleep, lambda: self.now, lambda: 1.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tried(executor, clock):
    """A function: (outcome, tries) of a call whose tries end as listed, the last one again and again."""

    def run(ends, name, args, **changes):
        sent = []

        def send(plan, _origin):
            end = ends[min(len(sent), len(ends) - 1)]
            sent.append(plan)
            if isinstance(end, Exception):
                raise end
            return end

        one = replace(executor(name, **changes), send=send, pace=clock.pace)
        return execute(one, name, args), sent

    return run


PLAIN = {"idempotency": {"mode": "none"}, "controls": {"confirm": "confirm"}}
ONCE_MORE = [NotSentError("no"), BUSY, SLOW_DOWN, GATEWAY, TimedOutError("late"), BrokenError("cut")]
names = [type(end).__name__ if isinstance(end, Exception) else str(end.status) for end in ONCE_MORE]


@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_a_read_is_tried_again(tried, end):
    outcome, sent = tried([end, FINE], "charge_get", {"charge": "x"}, retries="safe")
    assert (outcome.refusal, len(sent)) == (None, 2)


@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_a_mutation_under_a_key_is_tried_again_under_the_same(tried, full, end):
    outcome, sent = tried([end, FINE], "refund_create", full, retries="safe")
    assert (outcome.refusal, len(sent)) == (None, 2)
    assert sent[0] == sent[1]


@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_a_mutation_without_one_is_not_unless_it_did_not_leave(tried, full, end):
    del full["idempotency_key"]
    outcome, sent = tried([end, FINE], "refund_create", full, retries="safe", **PLAIN)
    left = not isinstance(end, NotSentError)
    assert len(sent) == (1 if left else 2)
    assert (outcome.refusal is None) == (not left)


@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_a_mutation_that_is_idempotent_by_nature_is_tried_again(tried, full, end):
    del full["idempotency_key"]
    natural = {"idempotency": {"mode": "natural"}, "controls": {"confirm": "confirm"}}
    outcome, sent = tried([end, FINE], "refund_create", full, retries="safe", **natural)
    assert (outcome.refusal, len(sent)) == (None, 2)


def test_always_is_the_owners_word(tried, full):
    del full["idempotency_key"]
    outcome, sent = tried([TimedOutError("late"), FINE], "refund_create", full, retries="always", **PLAIN)
    assert (outcome.refusal, len(sent)) == (None, 2)


@pytest.mark.parametrize("retried", ["safe", "always"])
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_what_a_person_approved_is_sent_once(executor, full, clock, end, keyed, retried):
    """A yes is to one request: neither its method nor its key makes a second one part of it."""
    del full["confirm"]
    natural = {} if keyed else {"idempotency": {"mode": "natural"}, "controls": {}}
    if not keyed:
        del full["idempotency_key"]
    sent = []

    def send(plan, _origin):
        sent.append(plan)
        if isinstance(end, Exception):
            raise end
        return end

    one = replace(executor("payout_create", retries=retried, **natural), send=send, pace=clock.pace)
    outcome = execute(one, "payout_create", full, Caller("person", approve=lambda _plan, _digest: None))
    assert outcome.refusal
    assert outcome.refusal.code in ("upstream_error", "upstream_timeout")
    left = not isinstance(end, NotSentError)
    assert len(sent) == (1 if left else MOST_TRIES)
    if end not in (SLOW_DOWN, BUSY):  # with which an API says that it did nothing
        assert outcome.refusal.safe_to_retry is not left


@pytest.mark.parametrize("end", ONCE_MORE, ids=names)
def test_never(tried, end):
    _, sent = tried([end, FINE], "charge_get", {"charge": "x"}, retries="never")
    assert len(sent) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 501])
def test_another_answer_is_the_answer(tried, status):
    _, sent = tried([Answer(status, "", "", b""), FINE], "charge_get", {"charge": "x"}, retries="safe")
    assert len(sent) == 1


def test_another_origin_is_tried_no_more(tried):
    _, sent = tried([OriginChangedError("elsewhere"), FINE], "charge_get", {"charge": "x"}, retries="safe")
    assert len(sent) == 1


def test_it_ends(tried, clock):
    outcome, sent = tried([BUSY], "charge_get", {"charge": "x"}, retries="safe")
    assert len(sent) == MOST_TRIES == 3
    assert (outcome.refusal.code, outcome.refusal.retryable) == ("upstream_error", True)
    assert clock.slept == [0.25, 0.5]


def test_retry_after_is_obeyed_within_the_budget(tried, clock):
    _, sent = tried([SLOW_DOWN, FINE], "charge_get", {"charge": "x"}, retries="safe")
    assert (len(sent), clock.slept) == (2, [2.0])
    long = replace(SLOW_DOWN, retry_after=str(int(BUDGET_SECONDS) + 1))
    _, sent = tried([long, FINE], "charge_get", {"charge": "x"}, retries="safe")
    assert (len(sent), clock.slept) == (1, [2.0])


def test_retry_after_as_a_date():
    pace = Pace(chance=lambda: 0.0)
    date = email.utils.formatdate(time.time() + 5, usegmt=True)
    assert 3 < delay(1, replace(BUSY, retry_after=date), pace) <= 5
    assert delay(1, replace(BUSY, retry_after="Mon, 01 Jan 2001 00:00:00 GMT"), pace) == 0
    for nonsense in ("soon", "-3", "", "1e9", "٣"):
        assert delay(1, replace(BUSY, retry_after=nonsense), pace) == 0.125
    assert delay(1, replace(BUSY, retry_after="9" * 400), pace) > BUDGET_SECONDS


def test_the_delays_are_spread():
    assert {delay(2, BUSY, Pace(chance=lambda: share)) for share in (0.0, 1.0)} == {0.25, 0.5}  # noqa: B023
    assert delay(30, BUSY, Pace(chance=lambda: 1.0)) == retries.LONGEST_DELAY


def test_nothing_was_sent_is_not_said_of_a_call_whose_first_try_was(tried, full):
    ends = [TimedOutError("late"), NotSentError("no connection")]
    outcome, sent = tried(ends, "refund_create", full, retries="safe")
    assert len(sent) == 3
    assert "an earlier try may have been carried out" in outcome.refusal.message
    assert "Nothing was sent" not in outcome.refusal.message


@pytest.mark.parametrize("end", [TimedOutError("late"), BrokenError("cut"), GATEWAY, BUSY])
def test_a_refusal_after_a_try_that_may_have_been_carried_out_frees_no_key(tried, full, end):
    outcome, _ = tried([end, Answer(422, "", "", b"")], "refund_create", full, retries="safe")
    assert outcome.refusal.code == "upstream_error"
    other = {**full, "body": {"amount": 6}}
    outcome, sent = tried([FINE], "refund_create", other, retries="safe")
    assert (outcome.refusal.code, sent) == ("idempotency_conflict", [])

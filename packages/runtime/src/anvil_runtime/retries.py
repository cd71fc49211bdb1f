"""Which calls are sent again by themselves, and when: only where a second time cannot do more than one.

A call is tried at most three times within a budget, and only after: a request that did not leave; 429 and
503, with which an API says that it did nothing (RFC 9110 15.6.4, RFC 6585 4); 502, 504, a timeout and a
broken connection, where a second effect is ruled out because the operation is a read, naturally idempotent
or sent under a key. What a person approved is sent once: only a request that did not leave is tried again.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from anvil_runtime import client

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_core.air import Operation

MOST_TRIES = 3
BUDGET_SECONDS = 20.0
FIRST_DELAY, LONGEST_DELAY = 0.25, 4.0
NOTHING_DONE = frozenset({429, 503})
MAYBE_DONE = frozenset({502, 504})


@dataclass(frozen=True)
class Pace:
    """How time passes between two tries, and while another call's answer is waited for."""

    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random


def may_repeat(operation: Operation, outcome: client.Answer | Exception, *, idempotent: bool) -> bool:
    """Whether this outcome allows the same request once more."""
    if operation.retries == "never":
        return False
    if type(outcome) is client.NotSentError:
        return True
    always = operation.retries == "always" and not operation.confirmation.human_approval
    idempotent = idempotent or always
    if isinstance(outcome, client.Answer):
        return idempotent and outcome.status in NOTHING_DONE | MAYBE_DONE
    return idempotent and isinstance(outcome, client.TimedOutError | client.BrokenError)


def delay(tries: int, outcome: client.Answer | Exception, pace: Pace) -> float:
    """Seconds before the next try: what the API asks for, else twice as long each time, less by chance."""
    asked = _asked(outcome.retry_after) if isinstance(outcome, client.Answer) else None
    if asked is not None:
        return asked
    return float(min(FIRST_DELAY * 2.0 ** (tries - 1), LONGEST_DELAY) * (0.5 + pace.chance() / 2))


def _asked(retry_after: str | None) -> float | None:
    """Retry-After: seconds or a date (RFC 9110, 10.2.3); None where it is neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isascii() and retry_after.strip().isdigit():
        return float(retry_after) if len(retry_after) < 10 else BUDGET_SECONDS * 2
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None

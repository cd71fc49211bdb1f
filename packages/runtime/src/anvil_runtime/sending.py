"""Send a call that passed every gate, and put into words whatever comes of it.

A mutation under a key goes by the ledger: the first one is sent, and whoever comes second gets its answer.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from anvil_runtime import answers, client, retries
from anvil_runtime.ledger import LedgerError, Slot, request_digest
from anvil_runtime.plan import sendable_key
from anvil_runtime.refusals import Refusal, refuse
from anvil_runtime.secret_values import CredentialError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_core.air import Operation, Origin
    from anvil_runtime.execute import Executor
    from anvil_runtime.ledger import Found
    from anvil_runtime.origin import Target
    from anvil_runtime.plan import Plan

    Send = Callable[[Plan, Origin], client.Answer]

WAIT_SECONDS = 45.0
"""How long the answer of another call with the same key is waited for: clients give up after a minute."""
NOT_CLEAR = frozenset({408, 409, 499})
"""Of the 4xx, those with which an API may be at work on a request under this key, or a proxy gave it up."""
IN_PROGRESS = "another process still sends this call. Make the same call with the same key in a while"
DIED = (
    "an earlier call with this key may have been carried out: the process that sent it ended before the "
    "answer came. Look at the API first. Where nothing was done, use a new key"
)


@dataclass(frozen=True)
class Sent:
    """What came of a request, and what that makes of its key: see ``ledger``."""

    result: Refusal | dict[str, Any]
    key: Literal["answered", "open", "free"]


def send_call(
    executor: Executor, operation: Operation, args: dict[str, Any], plan: Plan, goal: Target
) -> Refusal | dict[str, Any]:
    """The envelope of the answer, or why there is none."""
    key = sendable_key(operation, args)
    if key is None or operation.effect.kind == "read":
        return send_once(executor, operation, args, plan, goal).result
    try:
        credential = executor.credentials.identity(operation, goal)
        slot = Slot(executor.bundle.air.service.id, str(goal.origin), credential, operation.id, key)
        found = executor.ledger.reserve(slot, request_digest(plan), WAIT_SECONDS)
    except CredentialError as error:
        return refuse("auth_required", operation.name, detail=f"{error}.")
    except LedgerError as error:
        return refuse("state_unwritable", operation.name, detail=f"{error}. Tell the user; do not retry.")
    if found.state != "reserved":
        return _second(operation, found)
    try:
        sent = send_once(executor, operation, args, plan, goal)
    except BaseException:  # cancelled, or worse: the request may be on its way
        _settle(executor, slot, "open", None)
        raise
    answer = sent.result if isinstance(sent.result, dict) else None
    state: Literal["answered", "open", "free"] = "open" if found.again and sent.key == "free" else sent.key
    _settle(executor, slot, state, executor.secrets.clean(answer))
    return sent.result


def _second(operation: Operation, found: Found) -> Refusal | dict[str, Any]:
    """What a call gets whose key is taken."""
    if found.state == "answered":
        return answers.replayed(found.answer or {})
    if found.state == "conflict":
        return refuse("idempotency_conflict", operation.name)
    if found.state == "unknown":
        return refuse("outcome_unknown", operation.name, detail=DIED)
    refused = refuse("outcome_unknown", operation.name, detail=IN_PROGRESS)
    return replace(refused, retryable=True, safe_to_retry=True)


def _settle(
    executor: Executor,
    slot: Slot,
    state: Literal["answered", "open", "free"],
    answer: dict[str, Any] | None,
) -> None:
    """What cannot be written down stays reserved: the next call with the key is not sent."""
    try:
        if state == "free":
            executor.ledger.free(slot)
        else:
            executor.ledger.settle(slot, state, answer)
    except LedgerError as error:
        print(f"anvil: {executor.secrets.clean_text(str(error))}", file=sys.stderr, flush=True)


def send_once(
    executor: Executor, operation: Operation, args: dict[str, Any], plan: Plan, goal: Target
) -> Sent:
    """Send it, again where that is proven safe, and say what came of it."""
    idempotent = repeats_safely(operation, args)
    send = executor.credentials.sender(operation, goal)
    outcome, uncertain = _tried(executor, send, operation, plan, goal.origin, idempotent=idempotent)
    if not isinstance(outcome, client.Answer):
        return _without_answer(executor, operation, outcome, idempotent=idempotent, uncertain=uncertain)
    try:
        if 200 <= outcome.status < 300:
            return Sent(answers.success(operation, outcome, executor.validators), "answered")
        refused = 400 <= outcome.status < 500 and outcome.status not in NOT_CLEAR
        failure = answers.failure(operation, outcome, idempotent=idempotent, uncertain=uncertain)
        return Sent(failure, "free" if refused and not uncertain else "open")
    except Exception as error:  # noqa: BLE001  # it was carried out, or refused by the API: say that
        executor.secrets.print_traceback()
        detail = f"it answered {outcome.status}, and the server failed to read that ({type(error).__name__})"
        return Sent(_uncertain("upstream_error", operation, detail, idempotent=idempotent), "open")


def _tried(
    executor: Executor, send: Send, operation: Operation, plan: Plan, origin: Origin, *, idempotent: bool
) -> tuple[client.Answer | Exception, bool]:
    """(the last outcome, whether an earlier try may have been carried out)."""
    pace, tries, uncertain = executor.pace, 0, False
    until = pace.clock() + retries.BUDGET_SECONDS
    while True:
        tries += 1
        outcome: client.Answer | Exception
        try:
            outcome = send(plan, origin)
        except Exception as error:  # noqa: BLE001  # told apart below
            outcome = error
        if tries == retries.MOST_TRIES or not retries.may_repeat(operation, outcome, idempotent=idempotent):
            return outcome, uncertain
        wait = retries.delay(tries, outcome, pace)
        if pace.clock() + wait > until:
            return outcome, uncertain
        uncertain = uncertain or not _did_nothing(outcome)
        pace.sleep(wait)


def _did_nothing(outcome: client.Answer | Exception) -> bool:
    if isinstance(outcome, client.Answer):
        return outcome.status == 429  # a 503 may be a proxy's, which gave up on a request that it passed on
    return isinstance(outcome, client.NotSentError)


def _without_answer(
    executor: Executor, operation: Operation, error: Exception, *, idempotent: bool, uncertain: bool
) -> Sent:
    if isinstance(error, client.NotSentError) and not uncertain:
        return Sent(_not_sent(operation, error), "free")
    code, detail = "upstream_error", str(error)
    if isinstance(error, client.NotSentError):
        detail += "; an earlier try may have been carried out"
    elif isinstance(error, client.TimedOutError):
        code = "upstream_timeout"
    elif not isinstance(error, client.BrokenError):
        executor.secrets.print_error(error)
        detail = f"the server failed while it waited for the answer ({type(error).__name__})"
    return Sent(_uncertain(code, operation, detail, idempotent=idempotent), "open")


def _not_sent(operation: Operation, error: client.NotSentError) -> Refusal:
    if isinstance(error, CredentialError):
        return refuse("auth_required", operation.name, detail=f"{error}.")
    if isinstance(error, client.OriginChangedError):
        return refuse("origin_not_allowed", operation.name, detail=str(error))
    refused = refuse("upstream_error", operation.name, detail=f"{error}. Nothing was sent.")
    return replace(refused, retryable=True, safe_to_retry=True)


def _uncertain(code: str, operation: Operation, detail: str, *, idempotent: bool) -> Refusal:
    if not idempotent:
        detail += ". The call may have been carried out: look before you retry"
    return replace(
        refuse(code, operation.name, detail=detail + "."), retryable=idempotent, safe_to_retry=idempotent
    )


def repeats_safely(operation: Operation, args: dict[str, Any]) -> bool:
    """Whether the same call again has no second effect: a read, naturally idempotent, or under a key.

    Never where a person approved it: the yes was to one request, and a second one needs another.
    """
    if operation.confirmation.human_approval:
        return False
    if operation.effect.kind == "read" or operation.idempotency.mode == "natural":
        return True
    return sendable_key(operation, args) is not None  # a plan without it is never made

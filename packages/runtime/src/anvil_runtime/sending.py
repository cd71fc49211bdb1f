"""Send a call that passed every gate, and put into words whatever comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anvil_runtime import answers, client
from anvil_runtime.plan import sendable_key
from anvil_runtime.refusals import Refusal, refuse
from anvil_runtime.secret_values import CredentialError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_core.air import Operation, Origin
    from anvil_runtime.execute import Executor
    from anvil_runtime.origin import Target
    from anvil_runtime.plan import Plan

    Send = Callable[[Plan, Origin], client.Answer]


def send_once(
    executor: Executor, operation: Operation, args: dict[str, Any], plan: Plan, goal: Target
) -> Refusal | dict[str, Any]:
    """The envelope of the answer, or why there is none."""
    idempotent = repeats_safely(operation, args)
    answer = _ask(executor, operation, plan, goal, idempotent=idempotent)
    if isinstance(answer, Refusal):
        return answer
    try:
        if 200 <= answer.status < 300:
            return answers.success(operation, answer, executor.validators)
        return answers.failure(operation, answer, idempotent=idempotent)
    except Exception as error:  # noqa: BLE001  # it was carried out, or refused by the API: say that
        executor.secrets.print_traceback()
        detail = f"it answered {answer.status}, and the server failed to read that ({type(error).__name__})"
        return _uncertain("upstream_error", operation, detail, idempotent=idempotent)


def _ask(
    executor: Executor, operation: Operation, plan: Plan, goal: Target, *, idempotent: bool
) -> client.Answer | Refusal:
    try:
        return executor.credentials.sender(operation, goal)(plan, goal.origin)
    except client.NotSentError as error:
        return _not_sent(operation, error)
    except client.TimedOutError as error:
        return _uncertain("upstream_timeout", operation, str(error), idempotent=idempotent)
    except client.BrokenError as error:
        return _uncertain("upstream_error", operation, str(error), idempotent=idempotent)
    except Exception as error:  # noqa: BLE001  # it may have been carried out: say that, not "not sent"
        executor.secrets.print_traceback()
        detail = f"the server failed while it waited for the answer ({type(error).__name__})"
        return _uncertain("upstream_error", operation, detail, idempotent=idempotent)


def _not_sent(operation: Operation, error: client.NotSentError) -> Refusal:
    if isinstance(error, client.OriginChangedError):
        return refuse("origin_not_allowed", operation.name, detail=str(error))
    if isinstance(error, CredentialError):
        return refuse("auth_required", operation.name, detail=f"{error}.")
    refused = refuse("upstream_error", operation.name, detail=f"{error}. Nothing was sent.")
    return replace(refused, retryable=True, safe_to_retry=True)


def _uncertain(code: str, operation: Operation, detail: str, *, idempotent: bool) -> Refusal:
    if not idempotent:
        detail += ". The call may have been carried out: look before you retry"
    return replace(
        refuse(code, operation.name, detail=detail + "."), retryable=idempotent, safe_to_retry=idempotent
    )


def repeats_safely(operation: Operation, args: dict[str, Any]) -> bool:
    """Whether the same call again has no second effect: a read, naturally idempotent, or under a key."""
    if operation.effect.kind == "read" or operation.idempotency.mode == "natural":
        return True
    return sendable_key(operation, args) is not None  # a plan without it is never made

"""Refusals as values, and the one envelope that carries them, over MCP and on the command line."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anvil_runtime.words import needs_text, refusal_text

if TYPE_CHECKING:
    from anvil_runtime.words import Need

# code: (retryable, safe_to_retry). Retryable: the caller itself can make the call succeed, with what
# `required` names or after a while. Safe to retry: the same call again cannot have a second effect.
RETRY: dict[str, tuple[bool, bool]] = {
    "unknown_operation": (False, True),
    "operation_not_approved": (False, True),
    "invalid_arguments": (True, True),
    "confirmation_required": (True, True),
    "human_approval_required": (False, True),
    "approval_declined": (False, True),
    "idempotency_key_required": (True, True),
    "idempotency_key_malformed": (True, True),
    "idempotency_conflict": (False, False),
    "outcome_unknown": (False, False),
    "arguments_not_canonical": (True, True),
    "origin_not_allowed": (False, True),
    "auth_required": (False, True),
    "state_unwritable": (False, True),
    "catalog_unusable": (False, True),
    "upstream_error": (False, False),
    "upstream_timeout": (False, False),
    "internal_error": (False, True),
}
FAILURES = frozenset(
    {"upstream_error", "upstream_timeout", "outcome_unknown", "internal_error", "catalog_unusable"}
)
"""Codes that say that something failed, where the others say that the contract refused."""


@dataclass(frozen=True)
class Refusal:
    """Why a call has no answer. ``upstream`` is what the API said, for upstream_error alone."""

    code: str
    operation: str
    message: str
    required: tuple[Need, ...] = ()
    retryable: bool = False
    safe_to_retry: bool = True
    upstream: dict[str, Any] | None = None


def refuse(code: str, tool: str, **parts: str) -> Refusal:
    """A refusal with the contract's own words for its code."""
    retryable, safe = RETRY[code]
    return Refusal(code, tool, refusal_text(code, tool, **parts), (), retryable, safe)


def refuse_needing(code: str, tool: str, needs: list[Need], see: str | None = None) -> Refusal:
    """A refusal that lists everything the call lacks."""
    return replace(refuse(code, tool, needs=needs_text(needs, see)), required=tuple(needs))


def refuse_internally(tool: str, error: BaseException) -> Refusal:
    """What the model reads when the server itself fails before anything was sent: no traceback."""
    message = f"{tool} was not sent: the server failed on its own account ({type(error).__name__}). "
    retryable, safe = RETRY["internal_error"]
    return Refusal("internal_error", tool, message + "Tell the user; do not retry.", (), retryable, safe)


def envelope(refusal: Refusal, trace_id: str | None = None) -> dict[str, Any]:
    """The answer's form. The trace id is that of the call's lines in the trail, or a new one."""
    error: dict[str, Any] = {
        "code": refusal.code,
        "message": refusal.message,
        "operation": refusal.operation,
        "required": list(refusal.required),
        "retryable": refusal.retryable,
        "safe_to_retry": refusal.safe_to_retry,
        "trace_id": trace_id or secrets.token_hex(8),
    }
    if refusal.upstream is not None:
        error["upstream"] = refusal.upstream
    return {"error": error}

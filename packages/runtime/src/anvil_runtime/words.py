"""The words of a refusal, from the decision core, so that a hook and the executor say the same.

The one place that touches ``hookcore``, which has no annotations because it is copied as it is.
Only texts and digests come from there: what is refused, the executor decides by itself (see gates.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hookcore  # type: ignore[import-untyped,unused-ignore]
from anvil_core.catalog import entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_core.air import Operation

Need = dict[str, Any]
"""One thing that is missing or wrong: argument, type, problem, example."""

ASK_A_PERSON: str = hookcore.ASK_A_PERSON
MEND: str = hookcore.MEND
NOT_AN_OBJECT: str = hookcore.NOT_AN_OBJECT

REFUSALS: dict[str, str] = {
    **hookcore.REFUSALS,
    "approval_declined": "{tool} was not sent: a person said no to this call. Do not retry, "
    "with whatever confirmation or key. The user can lift it by a new session.",
    "idempotency_conflict": "{tool} was not sent: this idempotency key was used before with other arguments. "
    "Use a new key for another change.",
    "outcome_unknown": "{tool} was not sent: {detail}.",
    "origin_not_allowed": hookcore.NOT_SENT,
    "auth_required": hookcore.NOT_SENT,
    "upstream_error": "{tool}: the API refused or failed: {detail}",
    "upstream_timeout": "{tool}: the API did not answer in time: {detail}",
    "internal_error": "{tool}: Anvil itself failed: {detail}",
}
"""The text of every code: those that a hook gives too are the decision core's."""


def refusal_text(code: str, tool: str, **parts: str) -> str:
    return REFUSALS[code].format_map({"tool": tool, **parts})


def needs_text(needs: Sequence[Need], look: str | None = None) -> str:
    text: str = hookcore.needs(needs, look)  # type: ignore[no-untyped-call,unused-ignore]
    return text


def kind(value: object) -> str:
    """A value as a refusal names it: ``the number 5``, ``null``."""
    text: str = hookcore.kind(value)  # type: ignore[no-untyped-call,unused-ignore]
    return text


def control_needs(operation: Operation, args: dict[str, Any]) -> dict[str, Need]:
    """How the decision core words what is wrong with Anvil's own arguments, by argument."""
    found: list[Need] = hookcore.missing(entry(operation), args)  # type: ignore[no-untyped-call,unused-ignore]
    return {need["argument"]: {key: need[key] for key in need if key != "code"} for need in found}


def argument_digest(operation: Operation, args: dict[str, Any]) -> str:
    """What binds an approval, a key or a record to one call. Raises ValueError where it is not canonical."""
    try:
        text: str = hookcore.digest(operation.name, args)  # type: ignore[no-untyped-call,unused-ignore]
    except RecursionError:
        raise ValueError("arguments that are nested too deeply are not canonical") from None
    return text


def approval_note(operation: Operation) -> str:
    """What a person must know of the operation before a yes: from the contract alone."""
    text: str = hookcore.approval_note(entry(operation))  # type: ignore[no-untyped-call,unused-ignore]
    return text


def look_first(operation: Operation, preview: str | None) -> str | None:
    """The line that offers a look at the request before it is sent."""
    dry_run = None if operation.confirmation.human_approval else operation.controls.dry_run
    text: str | None = hookcore.look_first(dry_run, preview)  # type: ignore[no-untyped-call,unused-ignore]
    return text

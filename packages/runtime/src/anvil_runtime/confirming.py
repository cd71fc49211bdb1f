"""A confirmation by a person where the model gave none: asked when it is the only thing that is missing.

A person's no closes the call for as long as the server runs: the same operation with the same arguments,
whatever its confirmation, key or dry run. Everything that is no clear answer is a refusal that names
the argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from anvil_runtime.asking import FIELD, NO, YES, confirmation_question
from anvil_runtime.gates import is_dry_run
from anvil_runtime.refusals import Refusal, refuse
from anvil_runtime.words import argument_digest

if TYPE_CHECKING:
    from anvil_core.air import Operation
    from anvil_core.clients import Client
    from anvil_runtime.caller import Caller, Reply
    from anvil_runtime.execute import Executor

NOTES = {
    "not_asked": "A person could not be asked about it here.",
    "not_approved": "It was put to a person, or to what answers for one, and not approved.",
    "unknown": "The question about it was declined, or never shown.",
}


@dataclass
class ClosedCalls:
    """The calls that a person said no to, by their digests. Safe for threads."""

    _digests: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def close(self, digest: str) -> None:
        with self._lock:
            self._digests.add(digest)

    def __contains__(self, digest: object) -> bool:
        with self._lock:
            return digest in self._digests


def confirmed(
    executor: Executor, operation: Operation, args: dict[str, Any], caller: Caller, refused: Refusal | None
) -> Refusal | dict[str, Any]:
    """The arguments to go on with, a person's confirmation among them; or the refusal.

    ``refused`` is what the gates said. Raises caller.NeedsAnswer where the answer comes with another request.
    """
    if is_dry_run(operation, args):
        return refused or args
    own = without_controls(operation, args)
    digest = digest_of(operation, own)
    if digest in executor.closed:
        return refuse("approval_declined", operation.name)
    if refused is None:
        return args
    if not lacks_only_confirmation(refused) or caller.ask is None or digest is None:
        return refused
    means = asked(executor, operation, own, caller)
    if means == "person":
        executor.closed.close(digest)
    if digest in executor.closed:  # by this answer, or by one to the same call meanwhile
        return refuse("approval_declined", operation.name)
    return {**args, str(operation.controls.confirm): True} if means == YES else told(refused, means)


def asked(executor: Executor, operation: Operation, own: dict[str, Any], caller: Caller) -> str:
    """Ask, unless the call says that nobody attends. ``yes``, or what the answer means that is none."""
    client = executor.bundle.clients.find(caller.client, caller.version)
    if caller.ask is None or (client and client.is_unattended(caller.meta)):
        return "not_asked"
    reply = caller.ask(confirmation_question(executor.bundle.air, operation, own, executor.secrets))
    return meaning(reply, client)


def meaning(reply: Reply, client: Client | None) -> str:
    """``yes``, or what the answer means that is none. The form's own no is a person's."""
    if reply.action == "accept":
        answer = reply.content.get(FIELD)
        return {YES: YES, NO: "person"}.get(answer, "unknown") if isinstance(answer, str) else "unknown"
    if reply.action == "unanswered" or client is None:
        return "unknown"
    return client.decline if reply.action == "decline" else client.cancel


def lacks_only_confirmation(refused: Refusal) -> bool:
    return refused.code == "confirmation_required" and len(refused.required) == 1


def told(refused: Refusal, means: str) -> Refusal:
    """The refusal that names the argument, and what became of the question."""
    return replace(refused, message=f"{refused.message}\n{NOTES[means]}")


def without_controls(operation: Operation, args: dict[str, Any]) -> dict[str, Any]:
    """The API's own arguments: what a call is, whatever is said to Anvil with it."""
    controls = operation.controls
    own = {controls.confirm, controls.dry_run, controls.idempotency_key}
    return {name: value for name, value in args.items() if name not in own}


def digest_of(operation: Operation, own: dict[str, Any]) -> str | None:
    """None where two readers could read the arguments differently: such a call is not asked about."""
    try:
        return argument_digest(operation, own)
    except ValueError:
        return None

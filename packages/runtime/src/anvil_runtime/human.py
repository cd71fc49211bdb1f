"""A person's approval of one call: who is asked, by what, and what each way of not having it is called.

Decided by what is known of the client (``anvil_core.clients``), never by an argument: the harness's own
dialog with the hook's record; a form with a code that the server shows; else nothing is sent, and the call is
held for a person to run. Design, section 8; facts: human-approval.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hookcore  # type: ignore[import-untyped,unused-ignore]
from anvil_runtime import approvals, code_form
from anvil_runtime.confirming import digest_of, without_controls
from anvil_runtime.refusals import Refusal, refuse
from anvil_runtime.state import StateError
from anvil_runtime.words import approval_note, argument_digest

if TYPE_CHECKING:
    from anvil_core.air import Operation
    from anvil_core.clients import Client
    from anvil_runtime.caller import Caller
    from anvil_runtime.execute import Executor
    from anvil_runtime.plan import Plan

NOTE: str = hookcore.NOTE
STOP = "Do not retry."
CAUSES: dict[str, str] = {
    "unseen": "The plugin's guard did not see this call: hooks are switched off, the guard failed, the call "
    "did not come through it, or it was made before. A yes in a dialog alone is not accepted.",
    "unsafe": "The record of its approval is not one that the plugin's guard wrote for it.",
    "other_contract": "The plugin's guard has another version of the contract than this server. Tell the "
    "user to start a new session.",
    "changed": "Another program changed the call after the plugin's guard had checked it.",
    "stale": "Its approval is more than 30 minutes old.",
    "note": "The person was not shown the contract's sentence about this call.",
    "client": "This client, or its version, is not known to ask a person.",
    "unattended": "Nobody attends this session.",
    "not_asked": "This session could not ask a person.",
    "unknown": "The question was declined or not shown.",
    "taken": "It was run by somebody else, changed, or became too old while it was shown.",
    "too_long": "Its arguments do not fit into a question to a person.",
}
"""What stands for ``how`` in the text of human_approval_required, one fixed sentence per cause."""
NOT_APPROVED = "{tool} was not sent: no person approved this call. Do not retry unless the user asks for it."
HELD = frozenset({"unseen", "client", "unattended", "not_asked", "unknown", "too_long"})
"""Causes after which the call is held for a person to run elsewhere: nobody looked at it here."""


def without_note(
    executor: Executor, operation: Operation | None, args: object, caller: Caller
) -> tuple[object, object]:
    """(arguments, note): the note that the hook put beside the arguments, where its client works so.

    In every version of it: one below the floor is refused for that, not for an argument of the hook's.
    """
    if operation is None or not operation.confirmation.human_approval or not isinstance(args, dict):
        return args, None
    clients = executor.bundle.clients.clients
    if not any(one.name == caller.client and one.proof == "tool_meta" for one in clients):
        return args, None
    return {name: value for name, value in args.items() if name != NOTE}, args.get(NOTE)


def known(executor: Executor, caller: Caller) -> Client | None:
    return executor.bundle.clients.find(caller.client, caller.version)


def approval_gate(
    executor: Executor, operation: Operation, args: dict[str, Any], plan: Plan, note: object, caller: Caller
) -> Refusal | None:
    """Why no person has approved this call, or None when one has. It asks, where the client is asked so."""
    if not operation.confirmation.human_approval:
        return None
    digest = argument_digest(operation, args)
    client = known(executor, caller)
    if caller.channel == "person" and caller.approve:
        cause = caller.approve(plan, digest)
    elif client and client.is_unattended(caller.meta):
        cause = "unattended"
    elif client and client.proof == "tool_meta":
        cause = by_record(executor, operation, digest, note, caller)
    elif caller.ask and may_ask(executor, client, caller):
        cause = code_form.ask(executor, operation, args, client, caller.ask)
    else:
        cause = "client"
    own = digest_of(operation, without_controls(operation, args))
    if cause == "person" and own:
        executor.closed.close(own)
    if cause == "person" or own in executor.closed:  # by this answer, or by one to the same call meanwhile
        return refuse("approval_declined", operation.name)
    if cause == "not_approved":  # not said to be a person's no: the call stays open
        said = NOT_APPROVED.format(tool=operation.name)
        return replace(refuse("approval_declined", operation.name), message=said)
    return refuse_for(executor, operation, args, cause, client) if cause else None


def may_ask(executor: Executor, client: Client | None, caller: Caller) -> bool:
    """Whether a form counts: by the manifest's word, and never in place of a dialog that a client lacks."""
    policy = executor.bundle.air.service.approval_elicitation
    if client is None:
        named = {one.name for one in executor.bundle.clients.clients}
        return policy == "any" and caller.client not in named
    return policy == "any" or (policy == "listed" and client.proof == "form")


def by_record(
    executor: Executor, operation: Operation, digest: str, note: object, caller: Caller
) -> str | None:
    """Why the harness's dialog and the hook's record do not hold, or None. The record is burnt either way."""
    wanted = {**about(executor, operation), "call_id": caller.call_id, "digest": digest}
    wanted["note"] = approval_note(operation)
    try:
        folder = executor.folder.ready()
        approvals.check(approvals.burn(folder, caller.call_id), wanted)
    except approvals.RecordError as error:
        return error.cause
    except StateError:
        return "unseen"
    return None if note == wanted["note"] else "note"


def about(executor: Executor, operation: Operation) -> dict[str, str]:
    """What a record and a held call say of the contract: the same as the hook's."""
    service = executor.bundle.air.service
    return {
        "service": service.id,
        "origin": str(service.origin),
        "contract_digest": executor.bundle.contract_digest,
        "operation": operation.id,
        "tool": operation.name,
    }


def refuse_for(
    executor: Executor, operation: Operation, args: dict[str, Any], cause: str, client: Client | None
) -> Refusal:
    """The one text of a cause. What nobody has looked at is held for a person to run elsewhere."""
    said = [CAUSES[cause]]
    if cause == "unseen" and client and client.no_record:
        said.append(client.no_record)
    if cause in HELD:
        root = executor.bundle.folder
        said.append(
            hookcore.hold(
                executor.folder.name, about(executor, operation), args, str(root.absolute() if root else ".")
            )
        )  # type: ignore[no-untyped-call,unused-ignore]
    else:
        said.append(STOP)
    return refuse("human_approval_required", operation.name, how=" ".join(said))

"""All the gates, over AIR, in the one order that there is.

Before the request is planned: state, arguments. Before it is sent, if it is not a dry run: credentials,
confirmation and idempotency key together, a person's approval.

They are written apart from ``hookcore.decide`` on purpose: a hook and the executor are two rings of
the same contract, and tests compare what each says. Only the words are shared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anvil_runtime.arguments import need, not_json, problems
from anvil_runtime.refusals import Refusal, refuse, refuse_needing
from anvil_runtime.words import ASK_A_PERSON, NOT_AN_OBJECT, argument_digest, control_needs, look_first

if TYPE_CHECKING:
    from anvil_core.air import KeyForm, Operation
    from anvil_runtime.arguments import Validators
    from anvil_runtime.credentials import Credentials
    from anvil_runtime.origin import Target
    from anvil_runtime.words import Need

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_NO_WORDS = "is not what the contract asks for."


def safety_gates(operation: Operation, args: object, preview: str | None = None) -> Refusal | None:
    """The contract's safety alone: the same gates without what needs the API's schema or its origin."""
    return (
        before_planning(operation, args, preview)
        or before_sending(operation, args, preview)
        or human_gate(operation)
    )


def before_planning(
    operation: Operation, args: object, preview: str | None = None, validators: Validators | None = None
) -> Refusal | None:
    """Why no request is made of this call, or None. ``args`` is an object when it is None."""
    return state_gate(operation) or arguments_gate(operation, args, preview, validators)


def before_sending(
    operation: Operation,
    args: object,
    preview: str | None = None,
    goal: Target | None = None,
    credentials: Credentials | None = None,
) -> Refusal | None:
    """Why the request of this call is not sent, or None. A dry run, which is not sent, passes."""
    if not isinstance(args, dict):
        return refuse_non_object(operation.name)
    if is_dry_run(operation, args):
        return None
    return (
        credentials_gate(operation, goal, credentials)
        or control_gate(operation, args, preview)
        or canonical_gate(operation, args)
    )


def state_gate(operation: Operation) -> Refusal | None:
    if operation.state == "approved":
        return None
    return refuse("operation_not_approved", operation.name, state=operation.state)


def refuse_non_object(tool: str) -> Refusal:
    return refuse_needing("invalid_arguments", tool, [need("(all)", "object", NOT_AN_OBJECT, {})])


def arguments_gate(
    operation: Operation, args: object, preview: str | None, validators: Validators | None
) -> Refusal | None:
    """Everything that is wrong with the arguments, and what Anvil's own lack with it: one look, one list."""
    if not isinstance(args, dict):
        return refuse_non_object(operation.name)
    wrong = problems(operation, args, validators) if validators else []
    unreadable = validators and not_json(args)
    own = [] if unreadable or is_dry_run(operation, args) else control_problems(operation, args)
    if not wrong and not any(code == "invalid_arguments" for code, _ in own):
        return None
    lacking = [*wrong, *(problem for _, problem in own)]
    look = None if wrong else look_first(operation, preview)
    return refuse_needing("invalid_arguments", operation.name, lacking, look)


def is_dry_run(operation: Operation, args: dict[str, Any]) -> bool:
    """Asked to show the request: the boolean true, and nothing that resembles it."""
    name = operation.controls.dry_run
    return name is not None and not operation.confirmation.human_approval and args.get(name) is True


def credentials_gate(
    operation: Operation, goal: Target | None, credentials: Credentials | None
) -> Refusal | None:
    """Refuse what the API would for want of a credential, naming what is to be set."""
    lacking = credentials.lacking(operation, goal) if credentials and goal else None
    return refuse("auth_required", operation.name, detail=f"{lacking}.") if lacking else None


def control_gate(operation: Operation, args: dict[str, Any], preview: str | None) -> Refusal | None:
    """All that Anvil's own arguments lack, in one refusal; its code is that of the first."""
    lacking = control_problems(operation, args)
    if not lacking:
        return None
    needs = [problem for _, problem in lacking]
    return refuse_needing(lacking[0][0], operation.name, needs, look_first(operation, preview))


def control_problems(operation: Operation, args: dict[str, Any]) -> list[tuple[str, Need]]:
    """(code, what is needed), in the order: dry run, confirmation, idempotency key."""
    wrong = [
        (dry_run_fault(operation, args), operation.controls.dry_run),
        (confirmation_fault(operation, args), operation.controls.confirm),
        (key_fault(operation, args), operation.controls.idempotency_key),
    ]
    if not any(code for code, _ in wrong):
        return []
    words = control_needs(operation, args)
    return [
        (code, words.get(str(name)) or need(str(name), "any", _NO_WORDS, None))
        for code, name in wrong
        if code
    ]


def dry_run_fault(operation: Operation, args: dict[str, Any]) -> str | None:
    name = operation.controls.dry_run
    if name is None or operation.confirmation.human_approval:
        return None
    return None if isinstance(args.get(name, False), bool) else "invalid_arguments"


def confirmation_fault(operation: Operation, args: dict[str, Any]) -> str | None:
    asked = operation.confirmation.required and not operation.confirmation.human_approval
    name = operation.controls.confirm
    confirmed = name is not None and args.get(name) is True
    return "confirmation_required" if asked and not confirmed else None


def key_fault(operation: Operation, args: dict[str, Any]) -> str | None:
    name, form = operation.controls.idempotency_key, operation.idempotency.form
    key = args.get(name) if name is not None else None
    if key is None:
        return "idempotency_key_required" if operation.idempotency.mode == "required" else None
    return None if form is not None and key_fits(key, form) else "idempotency_key_malformed"


def key_fits(key: object, form: KeyForm) -> bool:
    """Whether a key has the form of the contract; visible ASCII, since it may go into a header."""
    if not isinstance(key, str) or not _VISIBLE.fullmatch(key):
        return False
    if not form.min_length <= len(key) <= form.max_length:
        return False
    return form.format != "uuid" or _UUID.fullmatch(key) is not None


def canonical_gate(operation: Operation, args: dict[str, Any]) -> Refusal | None:
    """Refuse what a person's approval cannot be bound to."""
    if not operation.confirmation.human_approval:
        return None
    try:
        argument_digest(operation, args)
    except ValueError as error:
        detail = f"{error}. Send other arguments."
        return refuse("arguments_not_canonical", operation.name, detail=detail)
    return None


def human_gate(operation: Operation) -> Refusal | None:
    """Refused whenever a person must approve: no argument is an approval, and ``human`` says what is."""
    if not operation.confirmation.human_approval:
        return None
    return refuse("human_approval_required", operation.name, how=ASK_A_PERSON)

"""One call: the gates before its plan, the plan, the gates before it is sent, the answer.

The order of the gates is that of ``gates``. Whatever goes wrong becomes an envelope with a code;
nothing is raised to the caller.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anvil_runtime import client, gates, human, trail
from anvil_runtime.arguments import Validators, need, problems
from anvil_runtime.caller import COMMAND_LINE, Caller, NeedsAnswer
from anvil_runtime.confirming import ClosedCalls, confirmed
from anvil_runtime.credentials import Credentials
from anvil_runtime.ledger import Ledger
from anvil_runtime.oauth import Tokens
from anvil_runtime.origin import OriginError, Target, target
from anvil_runtime.plan import ContractError, make_plan, shown
from anvil_runtime.redaction import Secrets
from anvil_runtime.refusals import Refusal, envelope, refuse, refuse_internally, refuse_needing
from anvil_runtime.retries import Pace
from anvil_runtime.sending import send_call
from anvil_runtime.spill import Spill
from anvil_runtime.state import StateFolder
from anvil_runtime.styles import UnsendableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_core.air import Operation
    from anvil_runtime.bundle import Bundle
    from anvil_runtime.plan import Plan
    from anvil_runtime.sending import Send


@dataclass(frozen=True)
class Outcome:
    """The answer of a call: its envelope, and the refusal in it, if it is one."""

    envelope: dict[str, Any]
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Executor:
    """A bundle ready for calls. ``environ`` and ``send`` are given by tests, ``state`` too.

    ``secrets``: what must never be said; whatever leaves by another way than an outcome is cleaned with it.
    """

    bundle: Bundle
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    send: Send = client.send
    validators: Validators = field(default_factory=Validators)
    state: StateFolder | None = None
    secrets: Secrets = field(default_factory=Secrets)
    tokens: Tokens = field(default_factory=Tokens)
    pace: Pace = field(default_factory=Pace)
    closed: ClosedCalls = field(default_factory=ClosedCalls)

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.bundle.air.service, self.environ, self.secrets, self.tokens, self.send)

    @property
    def spill(self) -> Spill:
        return Spill(self.folder, self.secrets)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder, sleep=self.pace.sleep)

    @property
    def folder(self) -> StateFolder:
        """What the service keeps on this machine: its own folder, or the one that was given."""
        return self.state or StateFolder.of(self.bundle.air.service)


def execute(executor: Executor, tool: str, args: object, caller: Caller = COMMAND_LINE) -> Outcome:
    """The answer to one call of a tool, the preview tool included. No secret of a credential is in it.

    The trail has a line of it, whatever it is. Raises NeedsAnswer where a person must be asked first.
    """
    args, note = human.without_note(executor, executor.bundle.by_name.get(tool), args, caller)
    record = _begin(executor, tool, args, caller)
    try:
        result = _answer(replace(executor, send=record.sending(executor.send)), tool, args, note, caller)
    except NeedsAnswer:
        record.asking()
        raise
    except BaseException:
        record.abandon()
        raise
    if record.unrecorded and record.must:
        detail = f"the trail, which must have a line of it, cannot be written: {record.unrecorded}"
        result = refuse("state_unwritable", tool, detail=f"{detail} Tell the user; do not retry.")
    outcome = executor.secrets.clean(_outcome(result, record.trace_id))
    record.close(outcome.refusal, outcome.envelope)
    return outcome


def _begin(executor: Executor, tool: str, args: object, caller: Caller) -> trail.Record:
    bundle = executor.bundle
    operation = bundle.by_name.get(tool)
    mutation = operation is not None and operation.effect.kind != "read"
    must = bundle.air.service.trail == "required"
    return trail.begin(executor.folder, tool, args, caller, executor.secrets, mutation=mutation, must=must)


def _answer(
    executor: Executor, tool: str, args: object, note: object, caller: Caller
) -> Refusal | dict[str, Any]:
    try:
        bundle = executor.bundle
        if tool == bundle.air.preview:
            return _preview(executor, tool, args)
        operation = bundle.by_name.get(tool)
        if operation is None:
            return refuse("unknown_operation", tool)
        return _run(executor, operation, args, note, caller)
    except Exception as error:  # noqa: BLE001  # the model gets an envelope, the log the traceback
        executor.secrets.print_traceback()
        return refuse_internally(tool, error)


def _outcome(result: Refusal | dict[str, Any], trace_id: str) -> Outcome:
    return Outcome(envelope(result, trace_id), result) if isinstance(result, Refusal) else Outcome(result)


def _run(
    executor: Executor,
    operation: Operation,
    args: object,
    note: object,
    caller: Caller,
) -> Refusal | dict[str, Any]:
    preview = executor.bundle.air.preview
    refused = gates.before_planning(operation, args, preview, executor.validators)
    if refused:
        return refused
    assert isinstance(args, dict)
    prepared = _prepare(executor, operation, args)
    if isinstance(prepared, Refusal):
        return prepared
    plan, goal = prepared
    refused = gates.before_sending(operation, args, preview, goal, executor.credentials)
    settled = confirmed(executor, operation, args, caller, refused)
    if isinstance(settled, Refusal):
        return settled
    if gates.is_dry_run(operation, settled):
        return _plan_answer(executor, operation, settled, plan, goal)
    unapproved = human.approval_gate(executor, operation, settled, plan, note, caller)
    if unapproved:
        return unapproved
    return send_call(executor, operation, settled, plan, goal)


def _prepare(executor: Executor, operation: Operation, args: dict[str, Any]) -> tuple[Plan, Target] | Refusal:
    """The request and where it goes."""
    try:
        goal = target(executor.bundle.air.service, executor.environ)
        return make_plan(operation, args, goal), goal
    except OriginError as error:
        return refuse("origin_not_allowed", operation.name, detail=str(error))
    except ContractError as error:
        detail = f"{error}. Nothing was sent. Tell the user; do not retry."
        return refuse("internal_error", operation.name, detail=detail)
    except UnsendableError as error:
        return refuse_needing(
            "invalid_arguments", operation.name, [need(error.argument, "any", error.problem, None)]
        )


def _plan_answer(
    executor: Executor, operation: Operation, args: dict[str, Any], plan: Plan, goal: Target
) -> dict[str, Any]:
    then = what_the_call_needs(executor, operation, args, goal)
    return {"request": shown(plan), "sends": False, "then": then}


def what_the_call_needs(executor: Executor, operation: Operation, args: dict[str, Any], goal: Target) -> str:
    """What stands between this plan and a call that is sent."""
    dry_run = operation.controls.dry_run
    args = {name: value for name, value in args.items() if name != dry_run}
    refused = gates.credentials_gate(operation, goal, executor.credentials)
    said = [refused.message] if refused else []
    said += [
        f"- {problem['argument']}: {problem['problem']}"
        for _, problem in gates.control_problems(operation, args)
    ]
    if operation.confirmation.human_approval:
        said.append(
            f"A person must approve the call; no argument can. {operation.confirmation.reason}".strip()
        )
    start = "Nothing was sent. To send it, the call needs:\n" if said else "Nothing was sent. "
    return start + ("\n".join(said) if said else f"To send it, call {operation.name} with these arguments.")


def _preview(executor: Executor, tool: str, args: object) -> Refusal | dict[str, Any]:
    """The preview tool: the plan of any approved operation, human approval or not."""
    if not isinstance(args, dict):
        return gates.refuse_non_object(tool)
    wanted, given = args.get("operation"), args.get("arguments", {})
    needs = [need(str(name), "none", "is not an argument of this tool. Leave it out.", None)
             for name in sorted(set(args) - {"operation", "arguments"})]  # fmt: skip
    if not isinstance(wanted, str):
        needs.append(need("operation", "string", "must be the name of an operation.", None))
    if not isinstance(given, dict):
        needs.append(need("arguments", "object", "must be an object.", {}))
    if needs or not isinstance(wanted, str) or not isinstance(given, dict):
        return refuse_needing("invalid_arguments", tool, needs)
    operation = executor.bundle.by_name.get(wanted)
    if operation is None:
        return refuse("unknown_operation", wanted)
    refused = gates.state_gate(operation)
    if refused:
        return refused
    wrong = problems(operation, given, executor.validators)
    if wrong:
        return refuse_needing("invalid_arguments", wanted, wrong)
    prepared = _prepare(executor, operation, given)
    return prepared if isinstance(prepared, Refusal) else _plan_answer(executor, operation, given, *prepared)

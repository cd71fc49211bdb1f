"""What the values of a contract rest on: a line of document, manifest or approvals, or a guess.

Every gate has at least one ``Evidence``; the last one of a field is the one that holds. ``anvil explain``
shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from anvil_core.air import Evidence
from anvil_generator.inference import by_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anvil_core.air import Confirmation, Effect, Idempotency, Operation
    from anvil_core.problems import Position
    from anvil_generator.approvals import Approval
    from anvil_generator.manifest import Auth, HumanApprovalPolicy, ManifestOperation
    from anvil_generator.sources import FoundOperation
    from anvil_generator.sources.model import Place

CONFIRMATION = "confirmation"
HUMAN = "confirmation.human_approval"


@dataclass(frozen=True)
class Words:
    """What the manifest says of one operation, and where.

    ``at`` gives the place of a key of the operation's entry, ``top`` of one of the whole file; ``auth`` is
    for operations that declare none.
    """

    entry: ManifestOperation
    policy: HumanApprovalPolicy
    auth: Auth
    at: Callable[..., Position]
    top: Callable[..., Position]


def by_manifest(name: str, note: str, position: Position) -> Evidence:
    """A value that the manifest says; its file's name alone, not where a project lies."""
    return _at("manifest", name, note, position)


def of_confirmation(effect: Effect, needed: Confirmation, evidence: Sequence[Evidence]) -> Evidence:
    """Why the contract itself asks for a confirmation or not: it rests on what that rests on."""
    if effect.kind == "read":
        return _resting(CONFIRMATION, "a read needs none", last("effect.kind", evidence))
    if effect.risk in ("financial", "destructive", "high"):
        return _resting(CONFIRMATION, f"its risk is {effect.risk}", last("effect.risk", evidence))
    if effect.reversible is False:
        return _resting(CONFIRMATION, "it cannot be undone", last("effect.reversible", evidence))
    if needed.required:
        return _resting(CONFIRMATION, "a repeat may do it twice", last("idempotency", evidence))
    note = f"its risk is {effect.risk}, and a repeat does nothing more or is told from a new call"
    return _resting(CONFIRMATION, note, last("idempotency", evidence))


def of_policy(words: Words, confirmation: Confirmation, *, asked: bool) -> Evidence:
    """The service's word on who approves, for an operation that has none of its own."""
    note = f"human_approval: {words.policy}"
    if not asked and words.policy != "none":
        note += ", which is not for this one" if confirmation.required else "; there is no confirmation"
    at = words.top("human_approval")
    return by_manifest(HUMAN, note if at.line else f"{note}, since nothing is said", at)


def of_retries(idempotency: Idempotency, evidence: Sequence[Evidence]) -> Evidence:
    again = "is told from a new call" if idempotency.key else "does nothing more"
    note = "a repeat may do it twice" if idempotency.mode == "none" else f"a repeat {again}"
    return _resting("retries", note, last("idempotency", evidence))


def of_auth(found: FoundOperation, words: Words, auth: Auth) -> Evidence:
    if words.entry.auth is not None:
        return by_manifest("auth", "auth of the operation", words.at("auth"))
    if auth != found.auth:
        return by_manifest("auth", "auth for operations that declare none", words.top("auth"))
    place = found.places.get("security")
    return by_document("auth", "security" if place else "the document names none", place)


def of_state(operation: Operation, words: Words, approval: Approval | None, position: Position) -> Evidence:
    """``position``: where the approval stands, or the file that has none."""
    if operation.state == "blocked":
        return by_manifest("state", "state: blocked", words.at("state"))
    if approval is not None:
        by = f"by {approval.by} on {approval.date}"
        as_now = f"approved {by}" if operation.state == "approved" else f"changed since it was approved {by}"
        return _at("approvals", "state", as_now, position)
    if operation.state == "review_required":
        kind = last("effect.kind", operation.evidence)
        return _resting("state", f"not approved, and not clear: {kind.note}", kind)
    return _at("approvals", "state", "nobody has approved it", position.model_copy(update={"line": None}))


def of_origin(named: bool, place: Place | None, position: Position) -> Evidence:
    """``named``: the manifest says the server, at ``position``."""
    if named:
        return by_manifest("origin", "server", position)
    return by_document("origin", "the document's first server", place)


def last(name: str, evidence: Sequence[Evidence]) -> Evidence:
    """The one that holds for a field."""
    return next(one for one in reversed(evidence) if one.field == name)


def _resting(name: str, note: str, on: Evidence) -> Evidence:
    """A value that follows from another one, and so rests on the same."""
    return on.model_copy(update={"field": name, "note": f"{note} ({on.note})"})


def _at(basis: Literal["manifest", "approvals"], name: str, note: str, position: Position) -> Evidence:
    file = PurePath(position.file).name
    return Evidence(field=name, basis=basis, note=note, file=file, line=position.line)

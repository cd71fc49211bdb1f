"""What an operation does, guessed with care from what the document says: unknown is not safe.

The rules are the design's section 5. Every value comes with its evidence, so that ``anvil explain``
can say what it rests on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anvil_core.air import Confirmation, Effect, Evidence, Idempotency, KeyForm, Risk
from anvil_core.names import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import Parameter
    from anvil_generator.sources import FoundOperation

READ_METHODS = frozenset({"get", "head", "options", "trace"})
READ_VERBS = frozenset(
    "autocomplete calculate check count describe estimate fetch find get list lookup peek query read retrieve "
    "search show suggest view".split()
)
MUTATION_VERBS = frozenset(
    "accept activate add approve archive assign attach authorize block book cancel capture change charge clear "
    "clone close commit complete confirm connect copy create deactivate decline delete deploy destroy detach "
    "disable disconnect dispatch drop edit enable enroll erase execute expire finalize follow fulfill generate "
    "grant import insert install invite invoke issue join kick kill leave link lock mark merge migrate modify "
    "move mute open order pause pay pin publish purchase purge push reactivate reauthorize reboot recalculate "
    "redeem refresh refund register reject release remove rename renew reopen reorder replace reply reschedule "
    "reset resend resize resolve restart restore resume retry revert revoke rollback rotate run save schedule "
    "send set ship sign start stop store submit subscribe suspend swap switch sync terminate toggle transfer "
    "transition trash trigger unarchive unassign unblock uninstall unlink unlock unpublish unsubscribe update "
    "upgrade upload upsert void wipe withdraw write".split()
)
NOUNS_TOO = frozenset(
    "block book capture change charge clear close copy issue leave link lock mark open order pay pin push "
    "refund register release reply run schedule ship sign start stop store transfer".split()
)
RISK_WORDS: dict[Risk, frozenset[str]] = {
    "financial": frozenset(
        "buy capture captures charge charges credit credits debit debits disburse disbursement invoice invoices "
        "order orders pay payment payments payout payouts purchase purchases reauthorize refund refunds "
        "reimburse transfer transfers void withdraw withdrawal withdrawals".split()
    ),
    "destructive": frozenset(
        "clear delete destroy drop erase expunge kill prune purge remove reset terminate trash truncate "
        "uninstall wipe".split()
    ),
    "high": frozenset(
        "ban block cancel deactivate deploy disable email grant invite lock notify password permission "
        "permissions publish reboot restart revoke role roles rotate send sms suspend token tokens".split()
    ),
}
KEY_NAMES = frozenset({"idempotencykey", "xidempotencykey", "idempotencytoken", "paypalrequestid", "clienttoken"})
LONGEST_KEY = 10_000

REASONS = {
    "financial": "It moves money or commits someone to pay.",
    "destructive": "It destroys data.",
    "high": "It is a high-risk change.",
    "irreversible": "It cannot be undone.",
    "repeat": "Repeating it by mistake may do it twice: the API gives no way to tell a repeat from a new call.",
}


@dataclass(frozen=True)
class Inferred:
    """The guesses for one operation; ``certain`` is False where a person must look before approving reads."""

    effect: Effect
    idempotency: Idempotency
    key_parameter: Parameter | None
    certain: bool
    evidence: tuple[Evidence, ...]


def infer(found: FoundOperation) -> Inferred:
    """Effect and idempotency of an operation, with their evidence."""
    kind, certain, why = _kind(found)
    risk, risk_why = _risk(found) if kind == "mutation" else ("none", "reads change nothing")
    reversible = False if risk in ("financial", "destructive") else None
    idempotency, parameter, key_why = _idempotency(found, kind)
    evidence = (
        Evidence(field="effect.kind", basis="guess", note=why, line=found.source.line),
        Evidence(field="effect.risk", basis="guess", note=risk_why, line=found.source.line),
        Evidence(field="idempotency", basis="document", note=key_why, line=found.source.line),
    )
    effect = Effect(kind=kind, action=_action(found, kind), risk=risk, reversible=reversible)
    return Inferred(effect, idempotency, parameter, certain, evidence)


def needed_confirmation(effect: Effect, idempotency: Idempotency) -> Confirmation:
    """Whether a mutation must be confirmed, and why: the most serious reason is the one told."""
    if effect.kind == "read":
        return Confirmation(required=False)
    if effect.risk in ("financial", "destructive", "high"):
        reason = REASONS[effect.risk]
        if effect.reversible is False:
            reason += " " + REASONS["irreversible"]
        return Confirmation(required=True, reason=reason)
    if effect.reversible is False:
        return Confirmation(required=True, reason=REASONS["irreversible"])
    if idempotency.mode == "none":
        return Confirmation(required=True, reason=REASONS["repeat"])
    return Confirmation(required=False)


def _name_words(found: FoundOperation) -> list[str]:
    """Words of the operationId, without a leading word that only repeats the method."""
    name = words(found.source.operation_id or "")
    return name[1:] if name[:1] == [found.source.method] and len(name) > 1 else name


def _path_words(found: FoundOperation) -> list[str]:
    fixed = re.sub(r"\{[^}]*\}", " ", found.source.path)
    return words(fixed)


def _kind(found: FoundOperation) -> tuple[str, bool, str]:
    method, name, summary = found.source.method, _name_words(found), words(found.summary)
    if method in READ_METHODS:
        verb = _first(MUTATION_VERBS - NOUNS_TOO, [*name, *summary]) or _first(NOUNS_TOO, [*name[:1], *summary[:1]])
        if verb:
            return "read", False, f'{method.upper()}, but its name or summary says "{verb}"'
        return "read", True, f"the method is {method.upper()}"
    if method == "post" and name:
        reads = name[0] in READ_VERBS or name[-1] in READ_VERBS
        verb = _first(MUTATION_VERBS, [*name, *summary, *_path_words(found)])
        if reads and not verb:
            return "read", False, f'the method is POST, but it is named "{" ".join(name)}" and nothing says change'
    return "mutation", True, f"the method is {method.upper()}"


def _risk(found: FoundOperation) -> tuple[Risk, str]:
    seen = [*_name_words(found), *_path_words(found), *words(found.summary)]
    for risk in ("financial", "destructive", "high"):
        word = _first(RISK_WORDS[risk], seen)
        if word:
            return risk, f'the word "{word}" in its name, path or summary'
    if found.source.method == "delete":
        return "destructive", "the method is DELETE"
    if found.source.method in ("put", "patch"):
        return "medium", f"the method is {found.source.method.upper()}: it writes over what is there"
    return "low", "no word that tells of risk"


def _idempotency(found: FoundOperation, kind: str) -> tuple[Idempotency, Parameter | None, str]:
    parameter = next((one for one in found.parameters if is_key_name(one.name)), None)
    if kind == "read":
        return Idempotency(mode="natural"), None, "reads may be repeated"
    if parameter:
        mode = "required" if parameter.required else "key_supported"
        form = key_form(parameter.json_schema)
        idempotency = Idempotency(mode=mode, carrier=parameter.location, key=parameter.name, form=form)
        return idempotency, parameter, f"the document declares {parameter.name}"
    if found.source.method in ("put", "delete"):
        return Idempotency(mode="natural"), None, f"{found.source.method.upper()} is idempotent (RFC 9110, 9.2.2)"
    return Idempotency(mode="none"), None, "the document declares no key"


def is_key_name(name: str) -> bool:
    return re.sub(r"[^a-z]", "", name.lower()) in KEY_NAMES


def key_form(schema: dict[str, object]) -> KeyForm:
    """The form that the document asks of a key, within what a header can carry."""
    shortest, longest = schema.get("minLength", 1), schema.get("maxLength", 255)
    low = min(max(int(shortest), 1), LONGEST_KEY) if isinstance(shortest, int) else 1
    high = min(max(int(longest), low), LONGEST_KEY) if isinstance(longest, int) else 255
    return KeyForm(format="uuid" if schema.get("format") == "uuid" else "token", min_length=low, max_length=high)


def _action(found: FoundOperation, kind: str) -> str:
    verbs = READ_VERBS if kind == "read" else MUTATION_VERBS
    usual = {"get": "get", "post": "create", "put": "replace", "patch": "update", "delete": "delete"}
    return _first(verbs, _name_words(found)) or usual.get(found.source.method, found.source.method)


def _first(vocabulary: frozenset[str], seen: Iterable[str]) -> str | None:
    return next((word for word in seen if word in vocabulary), None)

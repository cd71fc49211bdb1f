"""From what was found and guessed to the contract: the manifest's word, the floor, and the approvals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import hookcore
from anvil_core import media_types, request_headers
from anvil_core.air import (
    RISKS,
    Confirmation,
    Controls,
    Input,
    KeyForm,
    Operation,
)
from anvil_core.problems import Problem
from anvil_generator import grounds, paging
from anvil_generator.inference import REASONS, infer, key_form, needed_confirmation
from anvil_generator.manifest import ManifestConfirmation, ManifestOperation
from anvil_generator.sources import assemble

if TYPE_CHECKING:
    from anvil_core.air import Effect, Evidence, Idempotency, Parameter, Risk
    from anvil_generator.grounds import Words
    from anvil_generator.inference import Inferred
    from anvil_generator.manifest import Auth, HumanApprovalPolicy
    from anvil_generator.sources import FoundOperation

FLOOR = frozenset({"financial", "destructive"})


@dataclass
class Draft:
    """An operation while the manifest is laid over it; ``loosened`` tells what became less guarded."""

    effect: Effect
    idempotency: Idempotency
    confirmation: Confirmation
    key_parameter: Parameter | None
    evidence: list[Evidence]
    words: Words
    loosened: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def by_entry(self, name: str, note: str, *keys: str) -> Evidence:
        """A value that the operation's entry in the manifest says."""
        return grounds.by_manifest(name, note, self.words.at(*keys))


@dataclass(frozen=True)
class Contracted:
    """One operation with its contract, what was loosened in it, and what is wrong with its manifest entry.

    ``found`` is all that the document says of it.
    ``said`` is all that the manifest says of it, as far as a reviewer of the operation agrees to it.
    """

    operation: Operation
    found: FoundOperation
    loosened: tuple[str, ...]
    because: str | None
    problems: tuple[Problem, ...]
    said: dict[str, Any]


def contract(found: FoundOperation, name: str, identifier: str, words: Words) -> Contracted:
    """The operation as the contract has it, before approvals: state generated, review_required or blocked."""
    said, policy = words.entry, words.policy
    inferred = infer(found, mutates=said.effect == "mutation")
    draft = Draft(
        effect=inferred.effect,
        idempotency=inferred.idempotency,
        confirmation=needed_confirmation(inferred.effect, inferred.idempotency),
        key_parameter=inferred.key_parameter,
        evidence=list(inferred.evidence),
        words=words,
    )
    if said.effect == "mutation":
        draft.evidence[0] = draft.by_entry("effect.kind", said.effect, "effect")
    _lay_effect(draft, said)
    _lay_idempotency(draft, found, said)
    _lay_confirmation(draft, inferred, said)
    _lay_policy(draft, inferred, said, policy)
    _check_carrier(draft, found)
    _lay_retries(draft, said)
    _note_lost_confirmation(draft, inferred)
    if draft.loosened and said.loosen is None:
        draft.problems += [
            f'{what}: this lowers a guard; add loosen: {{because: "..."}}' for what in draft.loosened
        ]
    auth = found.auth or words.auth if said.auth is None else said.auth
    draft.evidence.append(grounds.of_auth(found, words, auth))
    operation = _operation(found, name, identifier, said, draft, inferred, auth)
    if operation.confirmation.human_approval and hookcore.NOTE in operation.input.json_schema.get(
        "properties", {}
    ):
        draft.problems.append(
            f"confirmation.human_approval: the operation has an argument {hookcore.NOTE} of its own"
        )
    problems = tuple(
        Problem(severity="error", code="manifest_refused", message=text, position=words.at(), operation=name)
        for text in draft.problems
    )
    because = said.loosen.because if said.loosen else None
    reviewed = {**said.model_dump(exclude={"loosen", "name", "state", "auth"}), "human_approval": policy}
    reviewed |= {"auth": auth} if auth != found.auth else {}
    return Contracted(operation, found, tuple(draft.loosened), because, problems, reviewed)


def _lay_effect(draft: Draft, said: ManifestOperation) -> None:
    effect = draft.effect
    changes: dict[str, object] = {}
    if said.effect == "read" and effect.kind == "mutation":
        changes.update(kind="read", risk="none", reversible=None)
        draft.loosened.append("effect: mutation -> read")
    risk = said.risk or ("none" if changes else effect.risk)
    if risk != effect.risk:
        changes["risk"] = risk
        if _is_lower(risk, effect.risk):
            draft.loosened.append(f"risk: {effect.risk} -> {risk}")
    if said.reversible is not None and said.reversible != effect.reversible:
        changes["reversible"] = said.reversible
        if said.reversible:
            was = "irreversible" if effect.reversible is False else "unknown"
            draft.loosened.append(f"reversible: {was} -> reversible")
    if changes:
        draft.effect = effect.model_copy(update=changes)
        draft.evidence += [_by_effect(draft, said, key, value) for key, value in changes.items()]
    if draft.effect.kind == "read" and draft.effect.risk != "none":
        draft.problems.append("risk: a read has none")


def _by_effect(draft: Draft, said: ManifestOperation, key: str, value: object) -> Evidence:
    """The manifest's word for one part of the effect; what is called a read has neither risk nor way back."""
    own = {"kind": "effect", "risk": "risk", "reversible": "reversible"}[key]
    written = own if getattr(said, own) is not None else "effect"
    note = f"{written}: {str(getattr(said, written)).lower()}"
    return draft.by_entry(f"effect.{key}", note if own == written else f"{note}, so {value}", written)


def _is_lower(risk: Risk, other: Risk) -> bool:
    return RISKS.index(risk) < RISKS.index(other)


def _lay_idempotency(draft: Draft, found: FoundOperation, said: ManifestOperation) -> None:
    if said.idempotency is None:
        return
    order = ("none", "natural", "key_supported", "required")
    was, now = draft.idempotency, said.idempotency
    if order.index(now.mode) < order.index(was.mode) or (now.mode == "natural" and was.mode == "none"):
        draft.loosened.append(f"idempotency: {was.mode} -> {now.mode}")
    carrier = now.carrier or was.carrier
    key = was.key if now.key is None else now.key
    takes_key = now.mode in ("required", "key_supported")
    if takes_key and not (carrier and key):
        draft.problems.append(
            "idempotency: say the key's carrier (header, query, body or path) and its name on the wire"
        )
    wire = _wire(carrier, key)
    parameter = next((one for one in found.parameters if _wire(one.location, one.name) == wire), None)
    if parameter:
        key = parameter.name
    if takes_key and was.key and wire != _wire(was.carrier, was.key):
        draft.loosened.append(f"idempotency.key: {was.carrier} {was.key} -> {carrier} {key}")
    draft.key_parameter = parameter if takes_key else None
    form = _form(draft, parameter, now.form) if takes_key else None
    if form and form.min_length > form.max_length:
        draft.problems.append(
            f"idempotency.form: no key has {form.min_length} to {form.max_length} characters"
        )
    draft.idempotency = was.model_copy(
        update={
            "mode": now.mode,
            "carrier": carrier if takes_key else None,
            "key": key if takes_key else None,
            "form": form,
        }
    )
    draft.evidence.append(draft.by_entry("idempotency", now.mode, "idempotency"))


def _wire(carrier: str | None, key: str | None) -> tuple[str | None, str | None]:
    """What makes it the same place in a request; header names have no case."""
    return carrier, key.lower() if carrier == "header" and key else key


def _form(draft: Draft, parameter: Parameter | None, said: KeyForm | None) -> KeyForm:
    """The document's form, with what the manifest says of it laid over: asking for less is a loosening."""
    declared = key_form(parameter.json_schema) if parameter else KeyForm()
    words = {name: getattr(said, name) for name in said.model_fields_set} if said else {}
    form = declared.model_copy(update=words)
    if parameter:
        limited = "maxLength" in parameter.json_schema
        looser = {
            "format": form.format == "token" != declared.format,
            "min_length": form.min_length < declared.min_length,
            "max_length": limited and form.max_length > declared.max_length,
        }
        draft.loosened += [
            f"idempotency.form.{name}: {getattr(declared, name)} -> {getattr(form, name)}"
            for name, less in looser.items()
            if less
        ]
    return form


def _lay_confirmation(draft: Draft, inferred: Inferred, said: ManifestOperation) -> None:
    floor = inferred.effect.kind == "mutation" and inferred.effect.risk in FLOOR
    draft.confirmation = needed_confirmation(draft.effect, draft.idempotency)
    kept = draft.effect
    if floor and draft.effect.kind == "mutation" and _is_lower(draft.effect.risk, inferred.effect.risk):
        kept = draft.effect.model_copy(update={"risk": inferred.effect.risk})
        draft.confirmation = needed_confirmation(kept, draft.idempotency)
    floored = kept is not draft.effect
    rests_on = inferred.evidence if floored else draft.evidence
    draft.evidence.append(grounds.of_confirmation(kept, draft.confirmation, rests_on))
    word = said.confirmation
    if word is None:
        return
    required = draft.confirmation.required if word.required is None else word.required
    if floor and draft.confirmation.required and not required:
        draft.problems.append(f"confirmation: a {inferred.effect.risk} operation keeps its confirmation")
    human = bool(word.human_approval)
    if human and draft.effect.kind == "read":
        draft.problems.append("confirmation.human_approval: only a mutation can need a person's approval")
    reason = word.reason or draft.confirmation.reason or REASONS["repeat"]
    required = required or human
    draft.confirmation = Confirmation(
        required=required, reason=reason if required else "", human_approval=human
    )
    if word != ManifestConfirmation():
        note = "required" if required else "not required"
        draft.evidence.append(draft.by_entry("confirmation", note, "confirmation"))
    if word.human_approval is not None:
        note = f"human_approval: {str(human).lower()}"
        draft.evidence.append(
            draft.by_entry("confirmation.human_approval", note, "confirmation", "human_approval")
        )


def _lay_policy(
    draft: Draft, inferred: Inferred, said: ManifestOperation, policy: HumanApprovalPolicy
) -> None:
    """The service's policy touches only what needs a confirmation and has no value of its own.

    What was inferred counts too: a lowered risk takes no person's approval away. One that goes all the
    same, with the confirmation or by an explicit no, is a loosening.
    """
    if draft.confirmation.human_approval:
        return
    before = needed_confirmation(inferred.effect, inferred.idempotency)
    wanted = _asks_a_person(policy, inferred.effect, before)
    if not (wanted or _asks_a_person(policy, draft.effect, draft.confirmation)):
        if said.confirmation is None or said.confirmation.human_approval is None:
            draft.evidence.append(grounds.of_policy(draft.words, draft.confirmation, asked=False))
        return
    refused = said.confirmation is not None and said.confirmation.human_approval is False
    if refused or not draft.confirmation.required:
        draft.loosened.append(f"confirmation.human_approval: {policy} of the service -> false")
        if not refused:
            draft.evidence.append(grounds.of_policy(draft.words, draft.confirmation, asked=False))
    else:
        draft.confirmation = draft.confirmation.model_copy(update={"human_approval": True})
        draft.evidence.append(grounds.of_policy(draft.words, draft.confirmation, asked=True))


def _asks_a_person(policy: HumanApprovalPolicy, effect: Effect, confirmation: Confirmation) -> bool:
    unsafe = effect.reversible is False or effect.risk in ("high", "financial", "destructive")
    return confirmation.required and (policy == "all" or (policy == "unsafe" and unsafe))


def _note_lost_confirmation(draft: Draft, inferred: Inferred) -> None:
    """Whatever took it away: a key that the API may not honour does it as well as the manifest's word."""
    before = needed_confirmation(inferred.effect, inferred.idempotency)
    if before.required and not draft.confirmation.required:
        draft.loosened.append("confirmation: required -> not required")


def _lay_retries(draft: Draft, said: ManifestOperation) -> None:
    if said.retries is None:
        draft.evidence.append(grounds.of_retries(draft.idempotency, draft.evidence))
        return
    draft.evidence.append(draft.by_entry("retries", said.retries, "retries"))
    if said.retries == "always" and draft.idempotency.mode in ("none", "key_supported"):
        draft.loosened.append("retries: always, though a repeat is not told from a new call")


def _check_carrier(draft: Draft, found: FoundOperation) -> None:
    idempotency = draft.idempotency
    if idempotency.carrier == "path" and draft.key_parameter is None:
        draft.problems.append(f'idempotency: the path has no parameter "{idempotency.key}"')
    if idempotency.carrier == "body" and (
        found.body is None or not media_types.is_json(found.body.media_type)
    ):
        draft.problems.append("idempotency: a key in the body needs a JSON body")
    carrier, key = idempotency.carrier or "", idempotency.key or ""
    never = carrier == "cookie" or request_headers.is_never_an_argument(key, carrier)
    if request_headers.is_ignored(key, carrier) or never:
        draft.problems.append(f'idempotency: no argument ever sets the {carrier} "{key}"')
    elif carrier == "header" and not request_headers.NAME.fullmatch(key):
        draft.problems.append(f'idempotency: "{key}" is no name for a header')
    for one in found.constants:
        if _wire(one.location, one.name) == _wire(carrier, key):
            draft.problems.append(f'idempotency: the {carrier} "{key}" is always "{one.value}"')


def _operation(
    found: FoundOperation,
    name: str,
    identifier: str,
    said: ManifestOperation,
    draft: Draft,
    inferred: Inferred,
    auth: Auth,
) -> Operation:
    parameters = tuple(one for one in found.parameters if one is not draft.key_parameter)
    shape = assemble(parameters, found.body, found.definitions)
    paged, paged_because = paging.pagination(found, parameters, draft.effect.kind)
    goes_on, goes_on_because = paging.long_running(found)
    draft.evidence += [one for one in (paged_because, goes_on_because) if one]
    state = (
        "blocked"
        if said.state == "blocked"
        else "generated"
        if inferred.certain or said.effect
        else "review_required"
    )
    return Operation(
        id=identifier,
        name=name,
        title=found.source.operation_id or f"{found.source.method.upper()} {found.source.path}",
        description="\n\n".join(part for part in (found.summary, found.description) if part),
        tags=found.tags,
        source=found.source,
        input=Input(parameters=parameters, constants=found.constants, body=found.body, json_schema=shape),
        output=found.output,
        effect=draft.effect,
        idempotency=draft.idempotency,
        retries=said.retries or ("safe" if draft.idempotency.mode != "none" else "never"),
        confirmation=draft.confirmation,
        controls=_controls(draft, set(shape["properties"])),
        auth=auth,
        scopes={} if auth != found.auth else found.scopes,
        pagination=paged,
        long_running=goes_on,
        state=state,
        deprecated=found.deprecated,
        evidence=tuple(draft.evidence),
    )


def _controls(draft: Draft, taken: set[str]) -> Controls:
    """Names of Anvil's own arguments, moved aside where the API has one of the same name."""
    human = draft.confirmation.human_approval
    keyed = draft.idempotency.mode in ("required", "key_supported")
    mutation = draft.effect.kind == "mutation"
    return Controls(
        confirm=_free("confirm", taken) if draft.confirmation.required and not human else None,
        idempotency_key=_free("idempotency_key", taken) if keyed else None,
        dry_run=_free("dry_run", taken) if mutation and not human else None,
    )


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"anvil_{name}"
    return name

"""What an operation does, guessed with care from what the document says: unknown is not safe.

The rules are the design's section 5. Every value comes with its evidence, so that ``anvil explain``
can say what it rests on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import tomllib

from anvil_core.air import Confirmation, Effect, Evidence, Idempotency, KeyForm, Risk
from anvil_core.names import words
from anvil_generator.sources.places import REVERSIBLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import Parameter
    from anvil_generator.sources import FoundOperation
    from anvil_generator.sources.model import Place

READ_METHODS = frozenset({"get", "head", "options", "trace"})
_FILE = resources.files("anvil_generator") / "vocabulary.toml"
VOCABULARY = tomllib.loads(_FILE.read_text(encoding="utf-8"))
READ_VERBS = frozenset(VOCABULARY["read_verbs"])
MUTATION_VERBS = frozenset(VOCABULARY["mutation_verbs"])
NOUNS_TOO = frozenset(VOCABULARY["nouns_too"])
RISK_WORDS: dict[Risk, frozenset[str]] = {risk: frozenset(seen) for risk, seen in VOCABULARY["risk"].items()}
KEY_NAMES = frozenset(VOCABULARY["idempotency"]["key_names"])
CONJUNCTIONS = frozenset({"and", "or", "then"})
LONGEST_KEY = 10_000

REASONS = {
    "financial": "It moves money or commits someone to pay.",
    "destructive": "It destroys data.",
    "high": "It is a high-risk change.",
    "irreversible": "It cannot be undone.",
    "repeat": "Repeating it may do it twice: the API gives no way to tell a repeat from a new call.",
}


@dataclass(frozen=True)
class Inferred:
    """The guesses for one operation; ``certain`` is False where a person must look before approving reads."""

    effect: Effect
    idempotency: Idempotency
    key_parameter: Parameter | None
    certain: bool
    evidence: tuple[Evidence, ...]


def infer(found: FoundOperation, *, mutates: bool = False) -> Inferred:
    """Effect and idempotency of an operation, with their evidence. ``mutates``: the manifest says so."""
    kind, certain, why = ("mutation", True, "the manifest says so") if mutates else _kind(found)
    risk, risk_why = _risk(found) if kind == "mutation" else ("none", "reads change nothing")
    reversible, undo = _reversible(found, kind, risk)
    idempotency, parameter, key_why = _idempotency(found, kind)
    declared = found.places.get(f"{parameter.location} {parameter.name}") if parameter else None
    evidence = (
        Evidence(field="effect.kind", basis="manifest", note=why)
        if mutates
        else guess(found, "effect.kind", why),
        guess(found, "effect.risk", risk_why),
        undo,
        by_document("idempotency", key_why, declared) if parameter else guess(found, "idempotency", key_why),
    )
    effect = Effect(kind=kind, action=_action(found, kind), risk=risk, reversible=reversible)
    return Inferred(effect, idempotency, parameter, certain, evidence)


def guess(found: FoundOperation, name: str, note: str) -> Evidence:
    """A value that rests on what Anvil makes of the operation."""
    return Evidence(field=name, basis="guess", note=note, line=found.source.line)


def by_document(name: str, note: str, place: Place | None) -> Evidence:
    """A value that the document says, at its own place where that is known."""
    if place is None:
        return Evidence(field=name, basis="document", note=note)
    return Evidence(field=name, basis="document", note=note, line=place.position.line, pointer=place.pointer)


def _reversible(found: FoundOperation, kind: str, risk: Risk) -> tuple[bool | None, Evidence]:
    """True only where the document says so; a word of the name never does."""
    name, said = "effect.reversible", found.extensions.get(REVERSIBLE)
    if kind == "mutation" and isinstance(said, bool):
        return said, by_document(name, f"{REVERSIBLE}: {str(said).lower()}", found.places.get(REVERSIBLE))
    if risk in ("financial", "destructive"):
        return False, guess(found, name, f"its risk is {risk}")
    note = "reads change nothing" if kind == "read" else "neither the document nor the manifest says"
    return None, guess(found, name, note)


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


def _verbs(summary: list[str]) -> list[str]:
    """The words of a summary, and the verb behind the third person: "Deletes a pet", "Finds and sends it".

    Only where a verb stands, first or after "and", since elsewhere the form is a plural: "List refunds".
    The verb behind "starts charging" is looked for anywhere.
    """
    said = list(summary)
    for before, word in zip(["and", *summary], summary, strict=False):
        if before in CONJUNCTIONS and word.endswith("s"):
            said += [word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)]
        if word.endswith("ing"):
            said += [word.removesuffix("ing"), re.sub("ing$", "e", word)]
    return said


def _bound_words(found: FoundOperation) -> list[list[str]]:
    """Words of what the compiler has bound: "method=photos.delete" names an operation as a path does."""
    return [words(one.value) for one in found.constants]


def _opening(found: FoundOperation) -> list[str]:
    """The verb that the description begins with, behind markup and "permanently"."""
    said = words(re.sub(r"<[^>]*>", " ", found.description))
    while said and said[0].endswith("ly") and said[0] not in MUTATION_VERBS:
        said = said[1:]
    return _verbs(said[:1])


def _kind(found: FoundOperation) -> tuple[str, bool, str]:
    method, name, summary = found.source.method, _name_words(found), words(found.summary)
    bound = _bound_words(found)
    named = [*(name or _path_words(found)), *(word for one in bound for word in one)]
    if method in READ_METHODS:
        ends = [word for one in bound for word in (*one[:1], *one[-1:])]
        first = [*words(found.source.operation_id or "")[:1], *ends]
        verb = (
            _first(MUTATION_VERBS - NOUNS_TOO, [*named, *_verbs(summary)])
            or _first(NOUNS_TOO, [*first, *_verbs(summary[:1])])
            or _first(MUTATION_VERBS, _opening(found))
        )
        if verb:
            return "read", False, f'{method.upper()}, but its name, summary or description says "{verb}"'
        return "read", True, f"the method is {method.upper()}"
    if method == "post":
        reads = bool(name) and (name[0] in READ_VERBS or name[-1] in READ_VERBS)
        said = [*named, *_verbs(summary), *_path_words(found), *_opening(found)]
        verb = _first(MUTATION_VERBS, said)
        if reads and not verb:
            return (
                "read",
                False,
                f'the method is POST, but it is named "{" ".join(name)}" and nothing says change',
            )
        return _change_by_post(verb)
    return "mutation", True, f"the method is {method.upper()}"


def _change_by_post(verb: str | None) -> tuple[str, bool, str]:
    """POST says little where nearly everything is one: unknown, without a word that says what it does."""
    if verb:
        return "mutation", True, f'the method is POST, and its name, summary or path says "{verb}"'
    return "mutation", False, "the method is POST, and no word says what it does: taken for a change"


def _risk(found: FoundOperation) -> tuple[Risk, str]:
    bound = [word for one in _bound_words(found) for word in one]
    seen = [*_name_words(found), *_path_words(found), *bound, *_verbs(words(found.summary))]
    for risk, vocabulary in RISK_WORDS.items():
        word = _first(vocabulary, seen)
        if word:
            return risk, f'the word "{word}" in its name, path or summary'
    if found.source.method == "delete":
        return "destructive", "the method is DELETE"
    if found.source.method in ("put", "patch"):
        return "medium", f"the method is {found.source.method.upper()}: it writes over what is there"
    return "low", "no word that tells of risk"


def _idempotency(found: FoundOperation, kind: str) -> tuple[Idempotency, Parameter | None, str]:
    parameter = next(
        (one for one in found.parameters if is_key_name(one.name) and one.location != "cookie"), None
    )
    if kind == "read":
        return Idempotency(mode="natural"), None, "reads may be repeated"
    if parameter:
        mode = "required" if parameter.required else "key_supported"
        form = key_form(parameter.json_schema)
        idempotency = Idempotency(mode=mode, carrier=parameter.location, key=parameter.name, form=form)
        return idempotency, parameter, f"the document declares {parameter.name}"
    if found.source.method in ("put", "delete"):
        return (
            Idempotency(mode="natural"),
            None,
            f"{found.source.method.upper()} is idempotent (RFC 9110, 9.2.2)",
        )
    return Idempotency(mode="none"), None, "the document declares no key"


def is_key_name(name: str) -> bool:
    return re.sub(r"[^a-z]", "", name.lower()) in KEY_NAMES


def key_form(schema: dict[str, object]) -> KeyForm:
    """The form that the document asks of a key, within what a header can carry."""
    shortest, longest = schema.get("minLength", 1), schema.get("maxLength", 255)
    low = min(max(int(shortest), 1), LONGEST_KEY) if isinstance(shortest, int) else 1
    high = min(max(int(longest), low), LONGEST_KEY) if isinstance(longest, int) else 255
    return KeyForm(
        format="uuid" if schema.get("format") == "uuid" else "token", min_length=low, max_length=high
    )


def _action(found: FoundOperation, kind: str) -> str:
    verbs = READ_VERBS if kind == "read" else MUTATION_VERBS
    usual = {"get": "get", "post": "create", "put": "replace", "patch": "update", "delete": "delete"}
    return _first(verbs, _name_words(found)) or usual.get(found.source.method, found.source.method)


def _first(vocabulary: frozenset[str], seen: Iterable[str]) -> str | None:
    return next((word for word in seen if word in vocabulary), None)

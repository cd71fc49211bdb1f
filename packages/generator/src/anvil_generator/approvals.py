"""``approvals.yaml``: what a person reviewed, by fingerprint, and the revision of the whole contract.

An approval is for what was reviewed, not for a name: one whose fingerprint no longer matches puts the
operation back to ``review_required`` (design section 5).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from pydantic import Field

from anvil_core.air import Frozen
from anvil_core.schemas import without
from anvil_generator.files import write_file
from anvil_generator.sources import yaml_text
from anvil_generator.yamlfiles import YamlFile, read_yaml, validate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anvil_core.air import JsonSchema, Operation, Service
    from anvil_generator.sources import FoundOperation

FILE_NAME = "approvals.yaml"
FINGERPRINT_VERSION = 1
PROSE = frozenset({"title", "description", "example", "examples", "$comment", "deprecated"})
HEADING = (
    "# Written by `anvil approve`. Each entry is for what was reviewed: look at its changes as at code.\n"
)


class Approval(Frozen):
    """One review. The fingerprints are "1:" and a SHA-256 in hex; ``date`` has the year first.

    ``fingerprint`` covers all that was reviewed; ``source_fingerprint`` only what the document and the
    manifest say, so that a change of Anvil's own rules can be told from a change of the API.
    """

    fingerprint: str
    source_fingerprint: str
    by: str
    date: str
    note: str = ""


class Revision(Frozen):
    """How often the approved contract has changed, and the digest of the contract it was counted for."""

    number: int = 0
    contract_digest: str = ""


class Approvals(Frozen):
    """The file's content; ``operations`` is keyed by operation id."""

    anvil: int = 1
    revision: Revision = Revision()
    operations: dict[str, Approval] = Field(default_factory=dict)


def read_approvals(path: Path, name: str | None = None) -> tuple[Approvals, YamlFile]:
    """The approvals, none when there is no file. Raises Failed with positions for what is wrong in it."""
    if not path.exists():
        return Approvals(), YamlFile(name or path.name)
    file = read_yaml(path, name)
    return validate(Approvals, file, "approvals_invalid"), file


def write_approvals(path: Path, approvals: Approvals) -> None:
    """Write the file, sorted, whole or not at all."""
    data = approvals.model_dump()
    data["operations"] = dict(sorted(data["operations"].items()))
    write_file(path, (HEADING + yaml_text.write(data)).encode())


def fingerprint(operation: Operation, service: Service) -> str:
    """Version and SHA-256 of all that a reviewer agrees to. Changing this list means a new version."""
    return _mark(
        {
            **_where(operation.auth, service),
            **({"scopes": operation.scopes} if operation.scopes else {}),
            "method": operation.source.method,
            "path": operation.source.path,
            "input": without_prose(operation.input.json_schema),
            "parameters": [one.model_dump(exclude={"json_schema"}) for one in operation.input.parameters],
            "constants": [one.model_dump() for one in operation.input.constants],
            "media_type": operation.input.body.media_type if operation.input.body else None,
            **_body_form(operation),
            "accept": operation.output.media_type,
            "effect": operation.effect.kind,
            "risk": operation.effect.risk,
            "reversible": operation.effect.reversible,
            "idempotency": operation.idempotency.model_dump(),
            "confirmation": operation.confirmation.model_dump(),
            "retries": operation.retries,
        }
    )


def _body_form(operation: Operation) -> dict[str, Any]:
    """How a body's fields are written, where that is not by default."""
    body = operation.input.body
    made = body.model_dump(include={"fields", "encoded"}) if body else {}
    return {"body": made} if made else {}


def source_fingerprint(found: FoundOperation, service: Service, manifest: Mapping[str, Any]) -> str:
    """Version and SHA-256 of what the document and the manifest say, without Anvil's own guesses.

    All that was found is in it, prose too, since a guess may rest on any of it. ``manifest`` is
    ``Contracted.said``: the whole entry, reason and key form included.
    """
    words = {**_where(found.auth, service), "found": found.plain(), "manifest": manifest}
    return _mark(words)


def _where(auth: tuple[tuple[str, ...], ...], service: Service) -> dict[str, Any]:
    """Where a request goes, and as whom."""
    schemes = {scheme.id: scheme.model_dump() for scheme in service.auth}
    return {
        **({"loopback_credentials": True} if service.loopback_credentials else {}),
        "origin": str(service.origin),
        "base_path": service.base_path,
        "auth": [[schemes.get(name, name) for name in together] for together in auth],
    }


def _mark(reviewed: dict[str, Any]) -> str:
    text = json.dumps(reviewed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{FINGERPRINT_VERSION}:{hashlib.sha256(text.encode()).hexdigest()}"


def without_prose(schema: JsonSchema) -> JsonSchema:
    """The schema without the words that change nothing about what is accepted."""
    return without(schema, lambda keyword, _value: keyword in PROSE)


def with_states(
    operations: tuple[Operation, ...], service: Service, approvals: Mapping[str, Approval]
) -> tuple[Operation, ...]:
    """The operations with their states: approved where the fingerprint of the review still matches."""
    return tuple(_with_state(operation, service, approvals.get(operation.id)) for operation in operations)


def _with_state(operation: Operation, service: Service, approval: Approval | None) -> Operation:
    if operation.state == "blocked" or approval is None:
        return operation
    same = approval.fingerprint == fingerprint(operation, service)
    return operation.model_copy(update={"state": "approved" if same else "review_required"})

"""``anvil.yaml``: what a person said about an API, beyond what its document says (design section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from anvil_core.air import Frozen, KeyForm, KeyMode, Location, Retries, Risk
from anvil_core.names import LONGEST_SERVICE_ID, SERVICE_ID, TOOL_NAME
from anvil_generator.yamlfiles import YamlFile, read_yaml, validate

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "anvil.yaml"
HumanApprovalPolicy = Literal["none", "unsafe", "all"]


class ManifestIdempotency(Frozen):
    """Overrides of what was inferred; ``form`` is taken from the document when it declares the key."""

    mode: KeyMode
    carrier: Location | Literal["body"] | None = None
    key: str | None = None
    form: KeyForm | None = None


class ManifestConfirmation(Frozen):
    required: bool | None = None
    reason: str | None = Field(default=None, min_length=1, max_length=300)
    human_approval: bool | None = None


class Loosen(Frozen):
    """Why a guard may be lowered here; without it a looser value is an error."""

    because: str = Field(min_length=1)


class ManifestOperation(Frozen):
    effect: Literal["read", "mutation"] | None = None
    risk: Risk | None = None
    reversible: bool | None = None
    idempotency: ManifestIdempotency | None = None
    confirmation: ManifestConfirmation | None = None
    retries: Retries | None = None
    name: str | None = Field(default=None, pattern=f"^{TOOL_NAME}$")
    state: Literal["blocked"] | None = None
    loosen: Loosen | None = None


class Manifest(Frozen):
    """The file's content. ``operations`` is keyed by operationId, or by "METHOD /path"."""

    anvil: Literal[1] = 1
    document: str
    service: str | None = Field(default=None, pattern=f"^{SERVICE_ID}$", max_length=LONGEST_SERVICE_ID)
    server: str | None = None
    description: str | None = None
    author: str | None = None
    harnesses: tuple[str, ...] | None = Field(default=None, min_length=1)
    human_approval: HumanApprovalPolicy = "none"
    operations: dict[str, ManifestOperation] = Field(default_factory=dict)


def read_manifest(path: Path, name: str | None = None) -> tuple[Manifest, YamlFile]:
    """The manifest and its positions. Raises Failed with positions for anything that is wrong in it."""
    file = read_yaml(path, name)
    return validate(Manifest, file, "manifest_invalid"), file

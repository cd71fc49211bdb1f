"""``anvil.yaml``: what a person said about an API, beyond what its document says (design section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from anvil_core.air import ApprovalForms, Frozen, KeyForm, KeyMode, Location, Retries, Risk, Trail
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


class ManifestSource(Frozen):
    """Where one value is read: never the value."""

    env: str | None = None
    file: str | None = None


class ManifestCredential(ManifestSource):
    """One scheme's credential: ``env`` or ``file`` for one that is a single value, else its two parts.

    ``client_auth``: how an OAuth2 client says who it is, as the names of RFC 7591 have it.
    """

    username: ManifestSource | None = None
    password: ManifestSource | None = None
    client_id: ManifestSource | None = None
    client_secret: ManifestSource | None = None
    client_auth: Literal["client_secret_basic", "client_secret_post"] | None = None


Auth = tuple[tuple[str, ...], ...]
"""Alternatives, each a list of scheme ids that are needed together."""


class ManifestOperation(Frozen):
    effect: Literal["read", "mutation"] | None = None
    risk: Risk | None = None
    reversible: bool | None = None
    idempotency: ManifestIdempotency | None = None
    confirmation: ManifestConfirmation | None = None
    retries: Retries | None = None
    name: str | None = Field(default=None, pattern=f"^{TOOL_NAME}$")
    state: Literal["blocked"] | None = None
    auth: Auth | None = None
    loosen: Loosen | None = None


NOTHING_SAID = ManifestOperation()


Words = tuple[Annotated[str, Field(min_length=1)], ...]


class ManifestChoice(Frozen):
    """Operations by any of these: a tag, a path or pattern of paths, an operationId or "METHOD /path"."""

    tags: Words = ()
    paths: Words = ()
    operations: Words = ()


class ManifestSelect(ManifestChoice):
    """What goes into the bundle: every operation where nothing is chosen, without what is excluded."""

    exclude: ManifestChoice = ManifestChoice()


class Manifest(Frozen):
    """The file's content. ``operations`` is keyed by operationId, or by "METHOD /path".

    ``refs_within`` is the folder that the document's references may lead to, from this file's folder.
    ``auth`` is for the operations of which the document says nothing, or that they need none.
    """

    anvil: Literal[1] = 1
    document: str
    service: str | None = Field(default=None, pattern=f"^{SERVICE_ID}$", max_length=LONGEST_SERVICE_ID)
    server: str | None = None
    refs_within: str | None = None
    description: str | None = None
    author: str | None = None
    harnesses: tuple[str, ...] | None = Field(default=None, min_length=1)
    human_approval: HumanApprovalPolicy = "none"
    credentials: dict[str, ManifestCredential] = Field(default_factory=dict)
    loopback_credentials: bool = False
    auth: Auth = ()
    trail: Trail = "required"
    approval_elicitation: ApprovalForms = "listed"
    select: ManifestSelect = ManifestSelect()
    operations: dict[str, ManifestOperation] = Field(default_factory=dict)


def read_manifest(path: Path, name: str | None = None) -> tuple[Manifest, YamlFile]:
    """The manifest and its positions. Raises Failed with positions for anything that is wrong in it."""
    file = read_yaml(path, name)
    return validate(Manifest, file, "manifest_invalid"), file

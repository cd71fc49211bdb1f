"""AIR: one compiled API contract, as frozen data.

The generator makes it, the runtime executes from it, the catalog and the documents are views of it.
Shapes follow the design's section 5; JSON Schemas inside are plain dictionaries of draft 2020-12.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from anvil_core.names import LONGEST_SERVICE_ID, SERVICE_ID, TOOL_NAME
from anvil_core.param_styles import Style  # noqa: TC001 - the models are built from it
from anvil_core.secret_sources import Part, trouble


def _with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """What ``air_file`` shares is a list of names in the file only: a contract has the definitions."""
    if not isinstance(schema.get("$defs", {}), dict):
        raise ValueError("the definitions of the schema are missing")  # noqa: TRY004 - pydantic wants it
    return schema


JsonSchema = Annotated[dict[str, Any], AfterValidator(_with_definitions)]
Location = Literal["path", "query", "header", "cookie"]
Risk = Literal["none", "low", "medium", "high", "financial", "destructive"]
State = Literal["generated", "review_required", "approved", "blocked"]
KeyMode = Literal["natural", "key_supported", "required", "none"]
Retries = Literal["never", "safe", "always"]
Trail = Literal["required", "best_effort"]
ApprovalForms = Literal["listed", "any", "none"]

_OF_SOME_BODIES = frozenset({"fields", "encoded"})
RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high", "financial", "destructive")


class Frozen(BaseModel):
    """A value: unknown fields are an error, and nothing changes after it was made."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Origin(Frozen):
    """Where requests go, and nowhere else. ``host`` is in lower case; ``port`` is always explicit."""

    scheme: Literal["http", "https"]
    host: str
    port: int

    def __str__(self) -> str:
        """RFC 6454 form, without the scheme's own port."""
        usual = {"http": 80, "https": 443}[self.scheme]
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == usual else f":{self.port}")


class SecretSource(Frozen):
    """Where one part of a credential is read when a call is sent: one variable, or one file."""

    part: Part
    env: str | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SecretSource:
        wrong = trouble(self.env, self.file)
        if wrong:
            raise ValueError(wrong)
        return self

    def __str__(self) -> str:
        return self.env or f"the file {self.file}"


class TokenEndpoint(Frozen):
    """Where an OAuth2 client gets its access tokens (RFC 6749, 4.4): pinned, as the API's origin is.

    ``client``: how it says who it is, in the Authorization header or in the body (RFC 6749, 2.3.1).
    """

    origin: Origin
    path: str
    client: Literal["basic", "post"] = "basic"


class AuthScheme(Frozen):
    """A security scheme of the document (OpenAPI 3.1, 4.8.27), and where its credential is read.

    ``token`` is that of OAuth2 client credentials. No ``sources``: a scheme that cannot be used.
    """

    id: str
    kind: Literal["api_key", "http", "oauth2", "openid", "mutual_tls", "unknown"]
    name: str | None = None
    location: Literal["query", "header", "cookie"] | None = None
    scheme: str | None = None
    token: TokenEndpoint | None = None
    sources: tuple[SecretSource, ...] = ()


class Source(Frozen):
    """The document: its dialect, its path as the project names it, and the digest of its bytes."""

    kind: Literal["openapi-3.0", "openapi-3.1", "swagger-2.0"]
    uri: str
    sha256: str


class Evidence(Frozen):
    """What one value rests on. Where a field stands twice, the later one holds, over what was inferred.

    ``file`` is None for the document's own; ``pointer`` is that of the operation where it is None.
    """

    field: str
    basis: Literal["document", "manifest", "approvals", "guess"]
    note: str
    line: int | None = None
    file: str | None = None
    pointer: str | None = None

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """There are ten for each operation, and most places are the operation's own."""
        made: dict[str, Any] = handler(self)
        return {key: value for key, value in made.items() if value is not None}


class Service(Frozen):
    """The API. ``base_path`` starts with "/" and does not end with one; "" stands for the root.

    ``loopback_credentials``: a server on this machine that stands in for the API gets them too.
    ``trail``: whether a mutation may be sent although the trail cannot say so.
    ``approval_elicitation``: whose forms a person may approve a call in: of the clients that are listed as
    showing them to a person, of any, or of none.
    """

    id: str = Field(pattern=f"^{SERVICE_ID}$", max_length=LONGEST_SERVICE_ID)
    version: str
    title: str
    description: str = ""
    origin: Origin
    base_path: str
    auth: tuple[AuthScheme, ...] = ()
    loopback_credentials: bool = False
    trail: Trail = "required"
    approval_elicitation: ApprovalForms = "listed"
    source: Source
    evidence: tuple[Evidence, ...] = ()


def file_of(pointer: str) -> str | None:
    """The file that a pointer into a document of several leads to; None for the first one."""
    return None if pointer.startswith("/") else pointer.partition("#")[0] or None


class SourceRef(Frozen):
    """Where an operation stands in the document. ``line`` counts from 1.

    ``pointer`` has the file before a # where it is not the document's first one.
    """

    path: str
    method: str
    operation_id: str | None
    pointer: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that it stands in, from the first one's folder; None for the first one."""
        return file_of(self.pointer)

    @property
    def sent_path(self) -> str:
        """The path as it is sent: what stands behind a # only tells operations of one path apart."""
        return self.path.partition("#")[0]


class Parameter(Frozen):
    """One parameter that the caller gives: ``argument`` is its name in the tool, ``name`` on the wire."""

    argument: str
    name: str
    location: Location
    required: bool
    style: Style
    explode: bool
    allow_reserved: bool = False
    media_type: str | None = None
    json_schema: JsonSchema


class Constant(Frozen):
    """A parameter with a single possible value: bound by the compiler, never asked of the caller."""

    name: str
    location: Location
    value: str


class FormField(Frozen):
    """One field of a form that is written otherwise than its type's default (OpenAPI 3.1.1, 4.8.15).

    With a ``style``: as a query parameter of that style. Without: in one of ``media_types``, of which there
    may be wildcards for a ``file``, whose bytes are given as base64. ``others`` are the names of all fields,
    where the keys of this one become fields too.
    """

    name: str
    style: Style | None = None
    explode: bool = False
    allow_reserved: bool = False
    media_types: tuple[str, ...] = ()
    file: bool = False
    others: tuple[str, ...] = ()


class Body(Frozen):
    """The request body, given whole in one argument.

    ``encoded``: bytes that go out as the base64 text that was given, since the schema says so.
    """

    argument: str
    media_type: str
    required: bool
    json_schema: JsonSchema
    fields: tuple[FormField, ...] = ()
    encoded: bool = False

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Most bodies are JSON and have neither: fingerprints made before there were any stay good."""
        made: dict[str, Any] = handler(self)
        return {key: value for key, value in made.items() if key not in _OF_SOME_BODIES or value}


class Input(Frozen):
    """What the document asks of a caller.

    ``json_schema`` is the tool's schema without Anvil's own arguments: an object with one property
    per parameter and one for the body, no combinator at its root, shared parts under ``$defs``.
    """

    parameters: tuple[Parameter, ...] = ()
    constants: tuple[Constant, ...] = ()
    body: Body | None = None
    json_schema: JsonSchema


class Output(Frozen):
    """The success answer as the document describes it; both None where it describes none."""

    media_type: str | None = None
    json_schema: JsonSchema | None = None


class Effect(Frozen):
    """What a call does. ``reversible`` is None where nobody said; True only where someone did."""

    kind: Literal["read", "mutation"]
    action: str
    risk: Risk
    reversible: bool | None = None


class KeyForm(Frozen):
    """The form of an idempotency key; visible ASCII in any case, lengths in characters."""

    format: Literal["token", "uuid"] = "token"
    min_length: int = Field(default=1, ge=1)
    max_length: int = Field(default=255, le=10_000)


class Idempotency(Frozen):
    """How a repeated call is told from a new one. ``key`` is the carrier's name on the wire."""

    mode: KeyMode
    carrier: Location | Literal["body"] | None = None
    key: str | None = None
    form: KeyForm | None = None


class Confirmation(Frozen):
    """Whether the caller must confirm, why, and whether only a person's approval will do."""

    required: bool
    reason: str = ""
    human_approval: bool = False


class Controls(Frozen):
    """The names of Anvil's own arguments for this operation, free of collisions; None where not taken."""

    confirm: str | None = None
    idempotency_key: str | None = None
    dry_run: str | None = None


class Pagination(Frozen):
    """How the document pages its results: the arguments that steer it, ``body.x`` for one in the body.

    ``steer`` says which page (its cursor, number or offset), ``size`` how much is on one, ``next`` where the
    answer tells the next cursor. Style "link": the API names the next page in a header only.
    """

    arguments: tuple[str, ...]
    style: Literal["cursor", "page", "offset", "link"] | None = None
    steer: str | None = None
    size: str | None = None
    next: str | None = None


class Operation(Frozen):
    """One operation of the API, with its contract.

    ``id`` is dotted (service.resource.action), ``name`` is the tool's name. ``auth`` is a list of
    alternatives, each a list of scheme ids that are needed together; empty means none is declared.
    ``scopes`` are those that an OAuth2 scheme must grant, by its id. ``status_tool`` is the tool that tells
    of work that this one starts.
    """

    id: str
    name: str = Field(pattern=f"^{TOOL_NAME}$")
    title: str
    description: str = ""
    tags: tuple[str, ...] = ()
    source: SourceRef
    input: Input
    output: Output = Output()
    effect: Effect
    idempotency: Idempotency
    retries: Retries = "never"
    confirmation: Confirmation
    controls: Controls = Controls()
    auth: tuple[tuple[str, ...], ...] = ()
    scopes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    pagination: Pagination | None = None
    long_running: bool = False
    status_tool: str | None = None
    state: State = "generated"
    deprecated: bool = False
    evidence: tuple[Evidence, ...] = ()


class Air(Frozen):
    """A whole contract. Operations are sorted by name; ``preview`` is the preview tool's name, if served."""

    anvil: Literal[1] = 1
    service: Service
    preview: str | None = None
    operations: tuple[Operation, ...]

"""What reading a document gives: plain frozen data, nothing of the document's own structure left."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

if TYPE_CHECKING:
    from anvil_core.air import AuthScheme, Body, Constant, JsonSchema, Origin, Output, Parameter, SourceRef
    from anvil_core.problems import Position, Problem

Kind = Literal["openapi-3.0", "openapi-3.1", "swagger-2.0"]

# Where all requests go: origin and base path.
Home = tuple["Origin", str]

# Why an operation that the document describes correctly is not compiled.
Reason = Literal[
    "encoding_unsupported",  # the runtime cannot write this body or parameter
    "external_reference",  # a reference leaves the document
    "forbidden_parameter",  # it needs an argument that no caller may give (Host, method override, ...)
    "method_unsupported",  # TRACE answers with the request's own credentials
    "not_selected",  # the manifest or a flag leaves it out
    "schema_too_large",  # what describes its arguments is larger than any model could read
    "other_server",  # it names servers of its own, and requests go to one origin only
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: its JSON pointer, and file and line."""

    pointer: str
    position: Position


@dataclass(frozen=True, slots=True)
class Server:
    """One server of the document, every variable bound to its default."""

    url: str
    origin: Origin
    base_path: str
    description: str = ""
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FoundOperation:
    """One operation as the document describes it, before anything is inferred from it.

    ``auth`` and ``scopes`` are as in ``Operation``; ``statuses`` are the declared success codes,
    ``answer_headers`` the names of their headers; ``definitions`` are the ``$defs`` that parameters and
    body reach. The output's schema carries its own. ``servers`` are those that it or its path item names
    for itself. ``places`` are of what its contract may rest on: "security", "x-reversible", and each
    parameter as "header Some-Name".
    """

    source: SourceRef
    summary: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    body: Body | None
    definitions: dict[str, JsonSchema]
    output: Output
    auth: tuple[tuple[str, ...], ...]
    scopes: dict[str, tuple[str, ...]]
    statuses: tuple[str, ...]
    extensions: dict[str, Any]
    servers: tuple[Server, ...] = ()
    answer_headers: tuple[str, ...] = ()
    places: dict[str, Place] = field(default_factory=dict, compare=False)

    def plain(self) -> dict[str, Any]:
        """All of it as JSON values, but for the place in the document, which says nothing of the API."""
        made: dict[str, Any] = _plain(self)
        for part in ("line", "pointer"):
            del made["source"][part]
        # What came later is left out where there is none, so that older marks stay good.
        return {key: part for key, part in made.items() if part or key not in {"answer_headers", "scopes"}}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {
            one.name: _plain(getattr(value, one.name))
            for one in fields(value)
            if one.name not in ("place", "places")
        }
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class WithheldOperation:
    """An operation left out on purpose, and the place that says why.

    The source's ``method`` is "*" for a path item that stands in another document.
    """

    source: SourceRef
    reason: Reason
    detail: str
    position: Position


@dataclass(frozen=True, slots=True)
class FailedOperation:
    """An operation that cannot be compiled as it is written; the problem is a warning to the whole."""

    source: SourceRef
    problem: Problem


@dataclass(frozen=True, slots=True)
class Document:
    """What was found in a document.

    A document that cannot be read at all has no ``kind``, no operations, and an error in ``problems``.
    In any other, ``operations``, ``withheld`` and ``failed`` together are all operations of the
    document, each in exactly one of them, in its order, and ``problems`` holds warnings only: those
    that are not already told by a failed or withheld operation. ``servers`` are those with an origin.
    """

    uri: str
    kind: Kind | None = None
    sha256: str = ""
    title: str = ""
    version: str = ""
    description: str = ""
    servers: tuple[Server, ...] = ()
    auth: tuple[AuthScheme, ...] = ()
    operations: tuple[FoundOperation, ...] = ()
    withheld: tuple[WithheldOperation, ...] = ()
    failed: tuple[FailedOperation, ...] = ()
    problems: tuple[Problem, ...] = ()

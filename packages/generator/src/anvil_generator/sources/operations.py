"""The operations of a document, every one accounted for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anvil_core.air import SourceRef
from anvil_core.problems import Problem
from anvil_generator.sources import (
    bodies,
    outputs,
    parameters,
    paths,
    places,
    pointers,
    security,
    servers,
    swagger2,
)
from anvil_generator.sources.limits import LONGEST_ID, MOST_OPERATIONS, TextError
from anvil_generator.sources.model import FailedOperation, FoundOperation, WithheldOperation
from anvil_generator.sources.pointers import Pointer
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anvil_core.air import AuthScheme
    from anvil_generator.sources.definitions import Definitions
    from anvil_generator.sources.model import Home, Server
    from anvil_generator.sources.raw import Raw

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every operation of the document is read against."""

    raw: Raw
    definitions: Definitions
    schemes: tuple[AuthScheme, ...]
    home: Home | None


@dataclass(frozen=True, slots=True)
class Place:
    """One operation object, with the path item around it."""

    source: SourceRef
    value: Any
    pointer: Pointer
    item: dict[str, Any]
    item_pointer: Pointer


@dataclass(slots=True)
class Account:
    """What became of each operation."""

    operations: list[FoundOperation] = field(default_factory=list)
    withheld: list[WithheldOperation] = field(default_factory=list)
    failed: list[FailedOperation] = field(default_factory=list)


def read(around: Surroundings) -> Account:
    """Read every operation; none that is wrong keeps another from being read."""
    account = Account()
    sources: list[tuple[SourceRef, Pointer]] = []
    for place in _places(around.raw, account):
        if len(sources) == MOST_OPERATIONS:
            message = f"is too large: it has more than {MOST_OPERATIONS} operations"
            raise TextError("document_too_large", message, place.source.line)
        sources.append((place.source, place.pointer))
        try:
            account.operations.append(_operation(around, place))
        except Stop as stop:
            _leave_out(around.raw, account, place.source, stop)
    _report_same_ids(around.raw, sources)
    return account


def _leave_out(raw: Raw, account: Account, source: SourceRef, stop: Stop) -> None:
    position = raw.position(stop.pointer)
    if stop.reason:
        account.withheld.append(WithheldOperation(source, stop.reason, stop.message, position))
        return
    problem = Problem(
        severity="warning",
        code=stop.code,
        message=stop.message,
        position=position,
        operation=source.operation_id or f"{source.method.upper()} {source.path}",
    )
    account.failed.append(FailedOperation(source, problem))


def _places(raw: Raw, account: Account) -> Iterator[Place]:
    """Every operation object of the document. Webhooks and callbacks are calls *by* the API: not ours."""
    for path, entry in raw.root.get("paths", {}).items():
        at = ("paths", path)
        if path.startswith("x-"):
            continue
        if isinstance(entry, dict):
            yield from _places_in(raw, path, entry, at, METHODS)
            if "$ref" not in entry:
                continue
        try:
            item, there = raw.object_at(entry, at, "a path item")
        except Stop as stop:
            _leave_out(raw, account, _source(raw, path, "*", None, at), stop)
            continue
        # What stands beside the reference wins; what it adds must not be lost.
        yield from _places_in(raw, path, item, there, [name for name in METHODS if name not in entry])


def _places_in(
    raw: Raw, path: str, item: dict[str, Any], pointer: Pointer, methods: Sequence[str]
) -> Iterator[Place]:
    for method in methods:
        if method in item:
            source = _source(raw, path, method, item[method], (*pointer, method))
            yield Place(source, item[method], (*pointer, method), item, pointer)


def _source(raw: Raw, path: str, method: str, value: Any, pointer: Pointer) -> SourceRef:
    operation_id = value.get("operationId") if isinstance(value, dict) else None
    if isinstance(operation_id, str) and len(operation_id) > LONGEST_ID:
        message = f"operationId has more than {LONGEST_ID} characters; ignored"
        raw.warn("operation_id_too_long", message, (*pointer, "operationId"))
        operation_id = None
    return SourceRef(
        path=path,
        method=method,
        operation_id=operation_id if isinstance(operation_id, str) and operation_id.strip() else None,
        pointer=pointers.write(pointer),
        line=raw.position(pointer).line or 1,
    )


def _operation(around: Surroundings, place: Place) -> FoundOperation:
    raw, value, pointer = around.raw, place.value, place.pointer
    if not isinstance(value, dict):
        raise Stop("not_an_object", "an operation must be an object", pointer)
    if place.source.method == "trace":
        raise Stop("method_unsupported", "TRACE is never sent", pointer, "method_unsupported")
    trouble = paths.trouble(place.source.sent_path)
    if trouble:
        raise Stop("path_invalid", trouble, pointer)
    own_servers = _own_servers(around, place)
    lists = [(place.item.get("parameters"), (*place.item_pointer, "parameters"))]
    if raw.kind == "swagger-2.0":
        value, pointer = swagger2.operation(raw, value, pointer, place.item, place.item_pointer)
        lists = []
    lists.append((value.get("parameters"), (*pointer, "parameters")))
    declared = _matching_path(raw, place, parameters.declared(raw, lists))
    body, body_reaches = None, set[Pointer]()
    if value.get("requestBody") is not None:
        at = (*pointer, "requestBody")
        body, body_reaches = bodies.read(raw, around.definitions, value["requestBody"], at)
    given = parameters.read(
        raw,
        around.definitions,
        declared,
        around.schemes,
        has_body=body is not None,
        reads=place.source.method in {"get", "head"},
    )
    summary, description = text(value.get("summary")), text(value.get("description"))
    raw.budget.write(len(summary) + len(description))
    responses = {} if value.get("responses") is None else value["responses"]
    auth = security.alternatives(raw, value, pointer)
    security.check_declared(raw, around.schemes, auth, pointer)
    return FoundOperation(
        source=place.source,
        summary=summary,
        description=description,
        tags=_tags(value.get("tags")),
        deprecated=value.get("deprecated") is True,
        parameters=given.arguments,
        constants=given.constants,
        body=body,
        definitions=around.definitions.closure(given.reaches | body_reaches, "request"),
        output=outputs.read(raw, around.definitions, responses, (*pointer, "responses")),
        auth=auth,
        scopes=security.scopes(raw, value, around.schemes),
        statuses=outputs.statuses(responses),
        extensions={key: item for key, item in value.items() if key.startswith("x-")},
        servers=own_servers,
        places=places.of(raw, value, pointer, declared),
        answer_headers=outputs.headers(raw, responses, (*pointer, "responses")),
    )


def _tags(value: Any) -> tuple[str, ...]:
    return tuple(tag for tag in value if isinstance(tag, str)) if isinstance(value, list) else ()


def _matching_path(raw: Raw, place: Place, declared: list[parameters.Declared]) -> list[parameters.Declared]:
    """Path parameters and the template must agree: one that is missing fails, one too many is left out."""
    wanted = paths.names(place.source.sent_path)
    known = {parameter.name for parameter in declared if parameter.location == "path"}
    for name in wanted:
        if name not in known:
            raise Stop("path_parameter_missing", f"{{{name}}} of the path is not declared", place.pointer)
    kept = []
    for parameter in declared:
        if parameter.location == "path" and parameter.name not in wanted:
            message = f"path parameter {parameter.name!r} is not in the path; left out"
            raw.warn("path_parameter_unused", message, parameter.pointer)
        else:
            kept.append(parameter)
    return kept


def _own_servers(around: Surroundings, place: Place) -> tuple[Server, ...]:
    """Requests go to one origin: where an operation names servers of its own, the first must be that."""
    if around.raw.kind == "swagger-2.0":
        schemes = place.value.get("schemes")
        if around.home and isinstance(schemes, list) and schemes and around.home[0].scheme not in schemes:
            message = f"the operation is not reached by {around.home[0].scheme}, as the service is"
            raise Stop("other_server", message, (*place.pointer, "schemes"), "other_server")
        return ()
    for value, pointer in ((place.value, place.pointer), (place.item, place.item_pointer)):
        declared, at = value.get("servers"), (*pointer, "servers")
        if declared is None or declared == []:
            continue
        own = servers.read(around.raw, declared, at) if isinstance(declared, list) else ()
        if not own or (own[0].origin, own[0].base_path) != around.home:
            message = "the operation has a server of its own, and requests go to the service's only"
            raise Stop("other_server", message, at, "other_server")
        return own
    return ()


def _report_same_ids(raw: Raw, sources: list[tuple[SourceRef, Pointer]]) -> None:
    """Both are kept, since method and path tell them apart; the problem names both places."""
    by_id: dict[str, list[tuple[SourceRef, Pointer]]] = defaultdict(list)
    for source, pointer in sources:
        if source.operation_id:
            by_id[source.operation_id].append((source, pointer))
    for operation_id, same in by_id.items():
        if len(same) > 1:
            where = " and ".join(f"{s.method.upper()} {s.path} ({raw.position(at)})" for s, at in same)
            message = f"operationId {operation_id!r} is used more than once: {where}"
            raw.warn("operation_id_duplicate", message, (*same[1][1], "operationId"), operation_id)

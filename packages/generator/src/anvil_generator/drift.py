"""What differs between two contracts, each change with its severity (design section 5, drift).

*Blocking* is what takes a guard away or moves a request: another origin, base path, method, path,
authentication or reason; a confirmation, a person's approval or an approval that is gone. *Warning* is every
other change of what is sent, asked or served; *info* is words, and what nobody can call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from anvil_generator.approvals import without_prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_core.air import Air, AuthScheme, Operation, Service

Severity = Literal["blocking", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("blocking", "warning", "info")
GONE: Any = None
"""How a value that is not there is told, as in JSON."""

WORDS = frozenset({"title", "description", "tags", "deprecated", "id", "operation_id", "output"})
MOVED = frozenset(
    {"origin", "base_path", "method", "path", "auth", "scopes", "loopback_credentials", "confirmation.reason"}
)
NEVER_OFF = frozenset({"confirmation.required", "confirmation.human_approval"})
FORMS = ("none", "listed", "any")
# What has no meaning of its own: where it stood, what it rested on, and the name of the argument that asks.
LEFT_OUT = frozenset({"evidence", "source", "input", "controls", "name"})
NESTED = ("effect", "idempotency", "confirmation")


@dataclass(frozen=True)
class Change:
    """One difference. ``operation`` is its id, None for the service; values are plain JSON data."""

    severity: Severity
    change: Literal["added", "removed", "changed"]
    operation: str | None
    field: str
    old: Any
    new: Any


def changes(old: Air, new: Air, *, states: bool = True) -> list[Change]:
    """Every difference, the most severe first, then by operation. ``states``: approvals are known of both."""
    found = [*_of_service(old, new), *_of_operations(old, new, states=states)]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.operation or "", one.field))


def is_blocking(found: list[Change]) -> bool:
    return any(change.severity == "blocking" for change in found)


def _of_service(old: Air, new: Air) -> Iterator[Change]:
    before, after = _service(old.service), _service(new.service)
    for field in before:
        if before[field] != after[field]:
            severity = _service_severity(field, before[field], after[field])
            yield Change(severity, "changed", None, field, before[field], after[field])
    used = {name for air in (old, new) for one in air.operations for both in one.auth for name in both}
    schemes, others = ({one.id: _scheme(one) for one in air.service.auth} for air in (old, new))
    for name in sorted(used & schemes.keys() & others.keys()):
        if schemes[name] != others[name]:
            yield Change("blocking", "changed", None, f"auth.{name}", schemes[name], others[name])


def _service(service: Service) -> dict[str, Any]:
    data = service.model_dump(mode="json", exclude={"auth", "source", "evidence"})
    return {**data, "origin": str(service.origin)}


def _scheme(scheme: AuthScheme) -> dict[str, Any]:
    return scheme.model_dump(mode="json", exclude_none=True)


def _service_severity(field: str, old: Any, new: Any) -> Severity:
    if field in MOVED:
        return "blocking"
    if field == "approval_elicitation":
        return "blocking" if FORMS.index(new) > FORMS.index(old) else "warning"
    return "info" if field in ("title", "description", "version") else "warning"


def _of_operations(old: Air, new: Air, *, states: bool) -> Iterator[Change]:
    for before, after in _pairs(old, new):
        if before is None and after is not None:
            served = states and after.state == "approved"
            severity: Severity = "warning" if served else "info"
            yield Change(severity, "added", after.id, "operation", GONE, _called(after))
        elif after is None and before is not None:
            severity = "blocking" if states and before.state == "approved" else "info"
            yield Change(severity, "removed", before.id, "operation", _called(before), GONE)
        elif before is not None and after is not None:
            yield from _of_operation(before, after, states=states)


def _pairs(old: Air, new: Air) -> Iterator[tuple[Operation | None, Operation | None]]:
    """The same tool of both; else the same method and path, which has another name now; else alone."""
    befores, afters = ({one.name: one for one in air.operations} for air in (old, new))
    by_place = {_place(one): one for name, one in afters.items() if name not in befores}
    for name, before in befores.items():
        yield before, afters[name] if name in afters else by_place.pop(_place(before), None)
    for after in by_place.values():
        yield None, after


def _place(operation: Operation) -> tuple[str, str]:
    return operation.source.method, operation.source.path


def _called(operation: Operation) -> str:
    return f"{operation.name} ({operation.source.method.upper()} {operation.source.path})"


def _of_operation(before: Operation, after: Operation, *, states: bool) -> Iterator[Change]:
    olds, news = _flat(before), _flat(after)
    for field in sorted(olds.keys() | news.keys()):
        old, new = olds.get(field), news.get(field)
        if old == new or (field == "state" and not states):
            continue
        if field == "confirmation.reason" and not (old and new):
            continue  # it came or went with the confirmation, which is told
        yield Change(_severity(field, old, new), "changed", after.id, field, old, new)
    yield from _of_parts(after.id, "argument", _arguments(before), _arguments(after))
    yield from _of_parts(after.id, "definition", _definitions(before), _definitions(after))


def _of_parts(operation: str, kind: str, olds: dict[str, Any], news: dict[str, Any]) -> Iterator[Change]:
    """Parts of the input by their names; of one that both have, what is changed in it."""
    for name in sorted(olds.keys() | news.keys()):
        field, old, new = f"{kind} {name}", olds.get(name), news.get(name)
        if old is None:
            yield Change("warning", "added", operation, field, GONE, new)
        elif new is None:
            yield Change("warning", "removed", operation, field, old, GONE)
        else:
            for part in (one for one in old if old[one] != new[one]):
                severity: Severity = "info" if _only_words(old[part], new[part]) else "warning"
                yield Change(severity, "changed", operation, f"{field}: {part}", old[part], new[part])


def _only_words(old: Any, new: Any) -> bool:
    return isinstance(old, dict) and isinstance(new, dict) and without_prose(old) == without_prose(new)


def _severity(field: str, old: Any, new: Any) -> Severity:
    if field in MOVED or (field in NEVER_OFF and old and not new) or (field == "state" and old == "approved"):
        return "blocking"
    if field == "state":
        return "warning" if new == "approved" else "info"
    return "info" if field in WORDS else "warning"


def _flat(operation: Operation) -> dict[str, Any]:
    """All that the operation is but its arguments, by dotted names; what is new in AIR as a whole."""
    source, given = operation.source, operation.input
    flat: dict[str, Any] = {"tool": operation.name, "method": source.method, "path": source.path}
    flat["operation_id"] = source.operation_id
    flat["constants"] = [one.model_dump(mode="json") for one in given.constants]
    for field, value in operation.model_dump(mode="json", exclude=set(LEFT_OUT)).items():
        nested = value.items() if field in NESTED else ()
        flat |= {f"{field}.{name}": part for name, part in nested} or {field: value}
    return flat


def _arguments(operation: Operation) -> dict[str, Any]:
    """What the caller gives: schema, whether it must be given, and how it is written into the request."""
    given = operation.input
    wire = {one.argument: one.model_dump(mode="json", exclude={"json_schema"}) for one in given.parameters}
    if given.body:
        wire[given.body.argument] = given.body.model_dump(mode="json", exclude={"json_schema"})
    schema = given.json_schema
    return {
        name: {"schema": part, "required": name in schema.get("required", ()), "wire": wire.get(name)}
        for name, part in schema.get("properties", {}).items()
    }


def _definitions(operation: Operation) -> dict[str, Any]:
    return {name: {"schema": part} for name, part in operation.input.json_schema.get("$defs", {}).items()}

"""Document and manifest to AIR: find, name, contract, apply approvals, account for everything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from anvil_core import catalog, names
from anvil_core.air import Air, Service
from anvil_core.problems import Position, Problem
from anvil_generator import credentials, grounds, harnesses, operation_ids
from anvil_generator.approvals import source_fingerprint, with_states
from anvil_generator.contract import contract
from anvil_generator.entries import by_operation, key, place_of
from anvil_generator.errors import Failed, failure
from anvil_generator.grounds import Words
from anvil_generator.manifest import NOTHING_SAID
from anvil_generator.paging import with_status_tools
from anvil_generator.selection import NOT_SELECTED, Selection, select
from anvil_generator.sources import origin, read

if TYPE_CHECKING:
    from anvil_core.air import Evidence, Operation
    from anvil_generator.contract import Contracted
    from anvil_generator.harnesses import Harness
    from anvil_generator.manifest import HumanApprovalPolicy, ManifestOperation
    from anvil_generator.project import Project
    from anvil_generator.sources import Document, FoundOperation, Home

NO_APPROVAL = "no operation is approved yet: review them with `anvil inspect`, then `anvil approve`"


@dataclass(frozen=True)
class Compiled:
    """A contract and all that is told about how it came to be. ``revision`` counts approved contracts."""

    air: Air
    document: Document
    contracted: tuple[Contracted, ...]
    harnesses: tuple[Harness, ...]
    problems: tuple[Problem, ...]
    revision: int
    revision_recorded: bool

    def source_fingerprint(self, operation_id: str) -> str:
        """The mark of what document and manifest say of one operation."""
        one = self._by_id[operation_id]
        return source_fingerprint(one.found, self.air.service, one.said)

    @cached_property
    def _by_id(self) -> dict[str, Contracted]:
        return {one.operation.id: one for one in self.contracted}

    @property
    def total(self) -> int:
        """Operations in the source: compiled, withheld and failed ones."""
        found = self.document
        return len(found.operations) + len(found.withheld) + len(found.failed)


def compile_project(
    project: Project,
    service_id: str | None = None,
    human_approval: HumanApprovalPolicy | None = None,
    flags: Selection | None = None,
) -> Compiled:
    """Compile. Raises Failed with every error there is; warnings are in ``problems``.

    ``flags`` chooses among what the manifest selects.
    """
    home = _named_server(project)
    document = read(project.document, home=home, refs_within=project.refs_within)
    errors = [problem for problem in document.problems if problem.severity == "error"]
    if errors:
        raise Failed(errors)
    chosen = _harnesses(project)
    service = _service(project, document, service_id, home or _first_server(document))
    said = by_operation(project, document)
    policy = human_approval or project.manifest.human_approval
    tool_names = _tool_names(document, said, service.id, project)
    named = [(found, tool_names[key(found)]) for found in document.operations]
    given = dict(zip(map(key, document.operations), operation_ids.assign(service.id, named), strict=True))
    document = _selected(document, project, flags)
    words = {
        key(found): _words(project, found, said.get(key(found)), policy) for found in document.operations
    }
    contracted = tuple(
        contract(found, tool_names[key(found)], given[key(found)], words[key(found)])
        for found in document.operations
    )
    problems = [problem for one in contracted for problem in one.problems]
    if problems:
        raise Failed(problems)
    if not contracted:
        raise _nothing_compiled(document)
    operations = with_states(
        tuple(one.operation for one in contracted), service, project.approvals.operations
    )
    operations = tuple(
        _with_ground(operation, words[key(one.found)], project)
        for operation, one in zip(operations, contracted, strict=True)
    )
    operations = with_status_tools(tuple(sorted(operations, key=lambda operation: operation.name)))
    approved = [operation for operation in operations if operation.state == "approved"]
    previewed = any(operation.effect.kind == "mutation" for operation in approved)
    air = Air(service=service, preview=names.RESERVED if previewed else None, operations=operations)
    revision, recorded = _revision(air, project)
    warnings = [*document.problems, *_warnings(project, service, operations, approved)]
    return Compiled(air, document, contracted, chosen, tuple(warnings), revision, recorded)


def _words(
    project: Project,
    found: FoundOperation,
    entry: ManifestOperation | None,
    policy: HumanApprovalPolicy,
) -> Words:
    at = partial(place_of, project, found)
    return Words(entry or NOTHING_SAID, policy, project.manifest.auth, at, partial(_top, project))


def _top(project: Project, name: str) -> Position:
    """Where the manifest says something of the whole service; the file alone where it does not."""
    at = project.manifest_file.position(name)
    tree = project.manifest_file.tree
    return at if tree and name in tree.root else at.model_copy(update={"line": None})


def _with_ground(operation: Operation, words: Words, project: Project) -> Operation:
    """With what its state rests on."""
    approval = project.approvals.operations.get(operation.id)
    position = project.approvals_file.position("operations", operation.id)
    ground = grounds.of_state(operation, words, approval, position)
    return operation.model_copy(update={"evidence": (*operation.evidence, ground)})


def _selected(document: Document, project: Project, flags: Selection | None) -> Document:
    """The document with what the manifest, and then the flags, leave out withheld."""
    wanted, file = project.manifest.select, project.manifest_file
    name = f"`select` of {PurePath(file.name).name}"
    here = Selection(wanted, wanted.exclude, name, partial(file.position, "select"))
    document = select(document, here)
    return select(document, flags) if flags else document


def _nothing_compiled(document: Document) -> Failed:
    """A document without a single usable operation makes no bundle, and replaces none."""
    left_out = len(document.withheld) + len(document.failed)
    message = "the document has no operations"
    if any(one.reason == NOT_SELECTED for one in document.withheld):
        message = f"none of the document's {left_out} operations is selected and can be compiled"
    elif left_out:
        message = f"none of the document's {left_out} operations can be compiled"
    problem = Problem(
        severity="error", code="no_operations", message=message, position=Position(file=document.uri)
    )
    return Failed([problem, *(one.problem for one in document.failed)])


def _harnesses(project: Project) -> tuple[Harness, ...]:
    known = {harness.id: harness for harness in harnesses.known()}
    wanted = project.manifest.harnesses or tuple(known)
    for index, name in enumerate(wanted):
        if name not in known:
            at = project.manifest_file.position("harnesses", index)
            message = f'no harness "{name}" is known; there are: {", ".join(known)}'
            raise failure("unknown_harness", message, at.file, at.line)
    return tuple(known[name] for name in sorted(set(wanted)))


def _service(project: Project, document: Document, service_id: str | None, home: Home) -> Service:
    identifier = service_id or project.manifest.service or _slug(document.title)
    if not re.fullmatch(names.SERVICE_ID, identifier) or len(identifier) > names.LONGEST_SERVICE_ID:
        allowed = f"lower-case letters, digits and single dashes, at most {names.LONGEST_SERVICE_ID} in all"
        message = f'"{identifier}" is no service id: {allowed}; give one with --service'
        raise failure("service_id", message, document.uri, usage=service_id is not None)
    address, base_path = home
    return Service(
        id=identifier,
        version=document.version,
        title=document.title,
        description=project.manifest.description or document.description,
        origin=address,
        base_path=base_path,
        auth=credentials.with_sources(document.auth, project, identifier),
        loopback_credentials=project.manifest.loopback_credentials,
        trail=project.manifest.trail,
        approval_elicitation=project.manifest.approval_elicitation,
        source={"kind": document.kind, "uri": document.uri, "sha256": document.sha256},
        evidence=(_ground_of_origin(project, document),),
    )


def _ground_of_origin(project: Project, document: Document) -> Evidence:
    place = document.servers[0].place if document.servers else None
    named = project.manifest.server is not None
    return grounds.of_origin(named, place, project.manifest_file.position("server"))


def _named_server(project: Project) -> Home | None:
    """The server that the manifest names."""
    if project.manifest.server is None:
        return None
    try:
        return origin(project.manifest.server)
    except ValueError as error:
        at = project.manifest_file.position("server")
        raise failure("server_invalid", str(error), at.file, at.line) from None


def _first_server(document: Document) -> Home:
    for server in document.servers:
        return server.origin, server.base_path
    message = (
        "the document names no server with an absolute address; say it in anvil.yaml as server: https://..."
    )
    raise failure("no_server", message, document.uri)


def _tool_names(
    document: Document, said: dict[str, ManifestOperation], service_id: str, project: Project
) -> dict[str, str]:
    limit = names.room(harnesses.longest_prefixes(service_id).values())
    wanted = {}
    for found in document.operations:
        given = said[key(found)].name if key(found) in said else None
        named = names.snake(found.source.operation_id or "")
        wanted[key(found)] = (
            given or named or names.from_method_and_path(found.source.method, found.source.path)
        )
    final = names.assign(wanted, limit)
    for found in document.operations:
        given = said[key(found)].name if key(found) in said else None
        if given and final[key(found)] != given:
            at = place_of(project, found)
            message = f'the name "{given}" is taken, reserved or longer than {limit} characters'
            raise failure("name_unusable", message, at.file, at.line)
    return final


def _revision(air: Air, project: Project) -> tuple[int, bool]:
    digest = catalog.contract_digest(catalog.lines(air))
    recorded = project.approvals.revision
    if recorded.contract_digest == digest:
        return recorded.number, True
    return recorded.number + 1, False


def _warnings(
    project: Project, service: Service, operations: tuple[Operation, ...], approved: list[Operation]
) -> list[Problem]:
    known = {operation.id: operation for operation in operations}
    found = []
    for identifier in project.approvals.operations:
        operation = known.get(identifier)
        if operation is not None and operation.state == "approved":
            continue
        at = project.approvals_file.position("operations", identifier)
        if operation is None:
            text = "is not compiled: gone from the document, renamed, or left out of the bundle"
        elif operation.state == "blocked":
            text = "is blocked in the manifest, so its approval has no effect"
        else:
            text = "was changed since it was reviewed: review it and run `anvil approve` again"
        found.append(
            Problem(severity="warning", code="approval_stale", message=f"{identifier} {text}", position=at)
        )
    found += credentials.warnings(service, approved, project.document.name)
    if project.manifest.trail == "best_effort":
        text = "a mutation may be sent although the trail cannot say so"
        at = project.manifest_file.position("trail")
        found.append(Problem(severity="warning", code="trail_best_effort", message=text, position=at))
    if project.manifest.approval_elicitation == "any":
        text = "a client that is not known to show a form to a person may approve calls that need one"
        at = project.manifest_file.position("approval_elicitation")
        found.append(Problem(severity="warning", code="approval_by_any_form", message=text, position=at))
    if not approved:
        position = Position(file=project.approvals_file.name)
        found.append(
            Problem(severity="warning", code="nothing_approved", message=NO_APPROVAL, position=position)
        )
    return found


def _slug(title: str) -> str:
    return "-".join(names.words(title))[: names.LONGEST_SERVICE_ID].strip("-") or "api"


def describe(operation: Operation) -> dict[str, Any]:
    """One operation for reports: what it is called and where it stands."""
    source = operation.source
    return {
        "id": operation.id,
        "tool": operation.name,
        "state": operation.state,
        "method": source.method.upper(),
        "path": source.path,
        "operation_id": source.operation_id,
        **({"file": source.file} if source.file else {}),
        "line": source.line,
    }

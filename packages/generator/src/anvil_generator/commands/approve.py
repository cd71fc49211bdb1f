"""``anvil approve``: writes down what a person reviewed."""

from __future__ import annotations

import datetime as dt
import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anvil_core import catalog
from anvil_generator.approvals import Approval, Revision, fingerprint, with_states, write_approvals
from anvil_generator.compiler import Compiled, compile_project
from anvil_generator.entries import method_and_path
from anvil_generator.errors import failure
from anvil_generator.project import Project, open_project
from anvil_generator.selection import NOT_SELECTED

if TYPE_CHECKING:
    from anvil_core.air import Operation
    from anvil_generator.sources import WithheldOperation


def approve(
    target: Annotated[Path, typer.Argument(help="The project folder.", metavar="PROJECT")],
    operations: Annotated[
        list[str] | None,
        typer.Argument(help="Operations by id, tool name or operationId.", metavar="[OP]..."),
    ] = None,
    reads: Annotated[bool, typer.Option("--reads", help="Every read that nothing speaks against.")] = False,
    unchanged: Annotated[
        bool, typer.Option("--unchanged", help="Approved ones that only Anvil's own rules changed.")
    ] = False,
    by: Annotated[str | None, typer.Option("--by", help="Who reviewed; the user's name otherwise.")] = None,
    note: Annotated[str, typer.Option("--note", help="Kept with the approval.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was approved as JSON.")] = False,
) -> None:
    """Approve operations as they are now; a later change of one puts it back to review."""
    if not target.is_dir():
        raise failure(
            "usage", "is not a project folder; name the folder that holds anvil.yaml", str(target), usage=True
        )
    project = open_project(target)
    compiled = compile_project(project)
    chosen = _chosen(compiled, project, operations or [], reads=reads, unchanged=unchanged)
    new = _write(compiled, project, chosen, by or _user(), note)
    if as_json:
        print(json.dumps({"ok": True, "approved": [operation.id for operation in new]}, indent=2))
    else:
        for operation in new:
            again = " again, since only Anvil's own rules changed" if unchanged else ""
            print(
                f"approved{again} {operation.id} ({operation.source.method.upper()} {operation.source.path})"
            )
        changed = f"; review and commit {project.approvals_path}" if new else "; nothing was written"
        print(f"{len(new)} newly approved{changed}")


def _chosen(
    compiled: Compiled, project: Project, wanted: list[str], *, reads: bool, unchanged: bool
) -> list[Operation]:
    if not (wanted or reads or unchanged):
        raise failure("usage", "name operations, or give --reads or --unchanged", "anvil approve", usage=True)
    chosen = [_find(compiled, name) for name in wanted]
    if reads:
        chosen += [
            one for one in compiled.air.operations if one.effect.kind == "read" and one.state == "generated"
        ]
    if unchanged:
        chosen += [one for one in compiled.air.operations if _only_rules_changed(one, compiled, project)]
    return chosen


def _only_rules_changed(operation: Operation, compiled: Compiled, project: Project) -> bool:
    """An approval that no longer matches, though document and manifest say what they said then."""
    approval, service = project.approvals.operations.get(operation.id), compiled.air.service
    if approval is None or operation.state == "blocked":
        return False
    return approval.source_fingerprint == compiled.source_fingerprint(
        operation.id
    ) and approval.fingerprint != fingerprint(operation, service)


def _not_selected(compiled: Compiled) -> list[WithheldOperation]:
    return [one for one in compiled.document.withheld if one.reason == NOT_SELECTED]


def _find(compiled: Compiled, name: str) -> Operation:
    found = [
        operation
        for operation in compiled.air.operations
        if name
        in (operation.id, operation.name, operation.source.operation_id, method_and_path(operation.source))
    ]
    if not found:
        message = f'there is no operation "{name}"; `anvil inspect` lists them'
        if any(
            name in (one.source.operation_id, method_and_path(one.source)) for one in _not_selected(compiled)
        ):
            message = f'"{name}" is left out by `select` in the manifest; choose it there first'
        raise failure("unknown_operation", message, compiled.document.uri, usage=True)
    if len(found) > 1:
        message = f'"{name}" is more than one operation; say which: {", ".join(one.id for one in found)}'
        raise failure("unknown_operation", message, compiled.document.uri, usage=True)
    if found[0].state == "blocked":
        message = f"{name} is blocked in the manifest; remove `state: blocked` there first"
        raise failure(
            "operation_blocked", message, found[0].source.file or compiled.document.uri, found[0].source.line
        )
    return found[0]


def _write(
    compiled: Compiled, project: Project, chosen: list[Operation], by: str, note: str
) -> list[Operation]:
    if project.approvals_path is None:
        raise failure("usage", "a bare document has no approvals file", str(project.document), usage=True)
    service = compiled.air.service
    entries = dict(project.approvals.operations)
    new = []
    for operation in chosen:
        mark = fingerprint(operation, service)
        if entries.get(operation.id) is None or entries[operation.id].fingerprint != mark:
            today = dt.datetime.now(tz=dt.UTC).date().isoformat()
            said = compiled.source_fingerprint(operation.id)
            entries[operation.id] = Approval(
                fingerprint=mark, source_fingerprint=said, by=by, date=today, note=note
            )
            new.append(operation)
    updated = compiled.air.model_copy(
        update={"operations": with_states(compiled.air.operations, service, entries)}
    )
    digest = catalog.contract_digest(catalog.lines(updated))
    revision = project.approvals.revision
    if revision.contract_digest != digest or new:  # the digest is blind to a changed input
        revision = Revision(number=revision.number + 1, contract_digest=digest)
    approvals = project.approvals.model_copy(update={"operations": entries, "revision": revision})
    if approvals != project.approvals:
        write_approvals(project.approvals_path, approvals)
    return new


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"

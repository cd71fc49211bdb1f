"""The manifest's entries, each with the operation of the document that it is about."""

from __future__ import annotations

import difflib
from collections import defaultdict
from typing import TYPE_CHECKING

from anvil_core.problems import Position, Problem
from anvil_generator.errors import Failed

if TYPE_CHECKING:
    from anvil_core.air import SourceRef
    from anvil_generator.manifest import ManifestOperation
    from anvil_generator.project import Project
    from anvil_generator.sources import Document, FoundOperation


def key(found: FoundOperation) -> str:
    """What identifies an operation in any document: method and path."""
    return method_and_path(found.source)


def method_and_path(source: SourceRef) -> str:
    return f"{source.method.upper()} {source.path}"


def by_operation(project: Project, document: Document) -> dict[str, ManifestOperation]:
    """The manifest's entries by method and path. Raises Failed for one that names no single operation.

    One that is withheld or failed may have an entry: what is wrong with it is told elsewhere.
    """
    named = _named(document)
    said: dict[str, ManifestOperation] = {}
    problems = []
    for name, entry in project.manifest.operations.items():
        operations = named.get(name, [])
        if len(operations) == 1 and operations[0] not in said:
            said[operations[0]] = entry
            continue
        problems.append(
            Problem(
                severity="error",
                code="unknown_operation",
                message=_trouble(name, operations, named),
                position=project.manifest_file.position("operations", name),
            )
        )
    if problems:
        raise Failed(problems)
    return said


def _named(document: Document) -> dict[str, list[str]]:
    """{operationId, and METHOD /path: the operations that are called so, as METHOD /path}."""
    named: dict[str, list[str]] = defaultdict(list)
    sources = [one.source for one in document.operations]
    sources += [one.source for one in document.withheld]
    sources += [one.source for one in document.failed]
    for source in sources:
        own = method_and_path(source)
        for name in dict.fromkeys((own, source.operation_id or own)):
            named[name].append(own)
    return named


def _trouble(name: str, operations: list[str], named: dict[str, list[str]]) -> str:
    if len(operations) > 1:
        which = ", ".join(operations)
        return f'"{name}" is the operationId of several operations; say which, as METHOD /path: {which}'
    if operations:
        return f'"{name}" is the same operation as another entry; join the two'
    near = next(iter(difflib.get_close_matches(name, sorted(named), n=1, cutoff=0)), "none")
    return f'the document has no operation "{name}"; use operationId or METHOD /path, as "{near}"'


def place_of(project: Project, found: FoundOperation, *keys: str) -> Position:
    """Where the manifest says something of the operation; in the document where it says nothing."""
    for name in (found.source.operation_id, key(found)):
        if name and name in project.manifest.operations:
            return project.manifest_file.position("operations", name, *keys)
    return Position(file=found.source.file or project.document.name, line=found.source.line)

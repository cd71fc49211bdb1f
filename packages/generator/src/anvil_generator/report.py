"""``report.json``: every operation of the source accounted for, and what was loosened (I6)."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from anvil_generator import budget, harnesses
from anvil_generator.compiler import describe
from anvil_generator.selection import NOT_SELECTED

if TYPE_CHECKING:
    from anvil_core.air import SourceRef
    from anvil_core.problems import Problem
    from anvil_generator.compiler import Compiled


def report(compiled: Compiled) -> dict[str, Any]:
    """The report as plain data, in a fixed order."""
    document = compiled.document
    by_id = {one.operation.id: one for one in compiled.contracted}
    made: dict[str, Any] = {
        "anvil": 1,
        "document": {"uri": document.uri, "kind": document.kind, "sha256": document.sha256},
        "accounting": {
            "compiled": [describe(operation) for operation in compiled.air.operations],
            "withheld": [
                {**_place(one.source), "reason": one.reason, "detail": one.detail}
                for one in sorted(document.withheld, key=lambda one: (one.source.line, one.source.method))
            ],
            "failed": [
                {**_place(one.source), "problem": str(one.problem)}
                for one in sorted(document.failed, key=lambda one: (one.source.line, one.source.method))
            ],
        },
        "loosened": [
            {
                "id": operation.id,
                "what": list(by_id[operation.id].loosened),
                "because": by_id[operation.id].because,
            }
            for operation in compiled.air.operations
            if by_id[operation.id].loosened
        ],
        "budget": budget.of_served(compiled.air, harnesses.clients(compiled.harnesses)),
        "warnings": [_told(problem) for problem in compiled.problems],
    }
    counted = sum(len(entries) for entries in made["accounting"].values())
    if counted != compiled.total:
        raise AssertionError(f"{compiled.total} operations in the source, but {counted} accounted for")
    return made


def summary(compiled: Compiled) -> str:
    """One line: the accounting and the states."""
    document, operations = compiled.document, compiled.air.operations
    states = ", ".join(
        f"{sum(operation.state == state for operation in operations)} {state.replace('_', ' ')}"
        for state in ("approved", "review_required", "generated", "blocked")
        if any(operation.state == state for operation in operations)
    )
    return (
        f"{compiled.total} operations in {document.uri}: {len(operations)} compiled"
        + (f" ({states})" if states else "")
        + f", {len(document.withheld)} withheld, {len(document.failed)} failed"
    )


def left_out(compiled: Compiled) -> list[str]:
    """One line for each operation that is not in the bundle: where it stands, and why.

    Those that were left out by choice are counted, since they are often most of a document.
    """
    document = compiled.document
    lines = [str(one.problem) for one in document.failed]
    chosen = Counter(one.detail for one in document.withheld if one.reason == NOT_SELECTED)
    lines += [f"{document.uri}: {count} withheld: {why} ({NOT_SELECTED})" for why, count in chosen.items()]
    for one in document.withheld:
        if one.reason == NOT_SELECTED:
            continue
        name = f"{one.source.method.upper()} {one.source.path}"
        lines.append(f"{one.position}: withheld: {one.detail} [{name}] ({one.reason})")
    return lines


def _told(problem: Problem) -> str:
    """The problem with its file's name alone: where a project lies on this machine is no part of a bundle."""
    at = problem.position.model_copy(update={"file": PurePath(problem.position.file).name})
    return str(problem.model_copy(update={"position": at}))


def _place(source: SourceRef) -> dict[str, Any]:
    return {
        "method": source.method.upper(),
        "path": source.path,
        "operation_id": source.operation_id,
        **({"file": source.file} if source.file else {}),
        "line": source.line,
    }

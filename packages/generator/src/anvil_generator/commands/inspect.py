"""``anvil inspect``: the operations of a project or document, their contract and their state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anvil_generator import credentials
from anvil_generator.commands import flags
from anvil_generator.compiler import compile_project, describe
from anvil_generator.project import open_project
from anvil_generator.report import left_out, report, summary

if TYPE_CHECKING:
    from anvil_core.air import Operation


def inspect(
    target: Annotated[
        Path, typer.Argument(help="A project folder, or an API document.", metavar="PROJECT|SPEC")
    ],
    service: Annotated[
        str | None, typer.Option("--service", help="The service id, at most 16 characters.")
    ] = None,
    tags: flags.Tags = None,
    paths: flags.Paths = None,
    operations: flags.Operations = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show every operation with its effect, risk, gates and state. Writes nothing."""
    chosen = flags.selection(tags, paths, operations)
    compiled = compile_project(open_project(target), service, flags=chosen)
    if as_json:
        listed = [{**describe(one), "contract": _contract(one)} for one in compiled.air.operations]
        read = {one.id: credentials.words(one) for one in credentials.needed(compiled.air)}
        said = {"ok": True, "operations": listed, "credentials": read, **report(compiled)}
        print(json.dumps(said, indent=2))
        return
    for line in (*compiled.problems, *left_out(compiled)):
        print(line, file=sys.stderr)
    width = max((len(operation.name) for operation in compiled.air.operations), default=0)
    for operation in compiled.air.operations:
        source = operation.source
        print(f"{operation.name:<{width}}  {operation.state:<15}  {_gates(operation)}")
        print(f"{'':<{width}}  {source.method.upper()} {source.path} ({compiled.document.uri}:{source.line})")
        if operation.confirmation.required:
            print(f"{'':<{width}}  why: {operation.confirmation.reason}")
    for scheme in credentials.needed(compiled.air):
        print(f"credential: {scheme.id}: {credentials.words(scheme)}")
    for one in compiled.contracted:
        if one.loosened:
            print(f"loosened: {one.operation.id}: {'; '.join(one.loosened)} (because: {one.because})")
    print(summary(compiled))


def _contract(operation: Operation) -> dict[str, object]:
    return operation.model_dump(
        mode="json", include={"effect", "idempotency", "confirmation", "controls", "evidence"}
    )


def _gates(operation: Operation) -> str:
    effect = operation.effect
    parts = [effect.kind if effect.kind == "read" else f"mutation, {effect.risk}"]
    if operation.confirmation.human_approval:
        parts.append("a person approves")
    elif operation.confirmation.required:
        parts.append("confirm")
    if operation.idempotency.mode in ("required", "key_supported"):
        needed = "" if operation.idempotency.mode == "required" else " (optional)"
        parts.append(f"idempotency key{needed}")
    if operation.auth and () not in operation.auth:
        parts.append("credentials: " + " or ".join("+".join(together) for together in operation.auth))
    if operation.deprecated:
        parts.append("deprecated")
    return ", ".join(parts)

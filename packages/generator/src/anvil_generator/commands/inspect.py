"""``anvil inspect``: the operations of a project or document, their contract and their state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anvil_generator import budget, credentials, harnesses
from anvil_generator.commands import flags
from anvil_generator.compiler import compile_project, describe
from anvil_generator.project import open_project
from anvil_generator.report import left_out, report, summary

if TYPE_CHECKING:
    from anvil_core.air import Operation
    from anvil_generator.compiler import Compiled


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
    with_budget: Annotated[
        bool, typer.Option("--budget", help="What each tool costs in bytes and tokens, approved or not.")
    ] = False,
    refs_within: flags.RefsWithin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show every operation with its effect, risk, gates and state. Writes nothing."""
    chosen = flags.selection(tags, paths, operations)
    compiled = compile_project(open_project(target, refs_within=refs_within), service, flags=chosen)
    costs = budget.of_all(compiled.air, harnesses.clients(compiled.harnesses)) if with_budget else None
    if as_json:
        listed = [{**describe(one), "contract": _contract(one)} for one in compiled.air.operations]
        read = {one.id: credentials.words(one) for one in credentials.needed(compiled.air)}
        said = {"ok": True, "operations": listed, "credentials": read, **report(compiled)}
        said |= {"budget_of_all": costs} if costs else {}
        print(json.dumps(said, indent=2))
        return
    for line in (*compiled.problems, *left_out(compiled)):
        print(line, file=sys.stderr)
    width = max((len(operation.name) for operation in compiled.air.operations), default=0)
    for operation in compiled.air.operations:
        source = operation.source
        print(f"{operation.name:<{width}}  {operation.state:<15}  {_gates(operation)}")
        place = f"{source.file or compiled.document.uri}:{source.line}"
        print(f"{'':<{width}}  {source.method.upper()} {source.path} ({place})")
        if operation.confirmation.required:
            print(f"{'':<{width}}  why: {operation.confirmation.reason}")
    for scheme in credentials.needed(compiled.air):
        print(f"credential: {scheme.id}: {credentials.words(scheme)}")
    for one in compiled.contracted:
        if one.loosened:
            print(f"loosened: {one.operation.id}: {'; '.join(one.loosened)} (because: {one.because})")
    print(summary(compiled))
    if costs:
        _tell_budget(compiled, costs)


def _tell_budget(compiled: Compiled, costs: dict[str, Any]) -> None:
    """The dearest tool first."""
    states = {operation.name: operation.state for operation in compiled.air.operations}
    width = max(len(name) for name in states)
    for one in sorted(costs["by_tool"], key=lambda one: (-one["tokens"], one["tool"])):
        name = one["tool"]
        print(f"{name:<{width}}  {states[name]:<15}  {one['bytes']:>9,} bytes  {one['tokens']:>7,} tokens")
    served = budget.of_served(compiled.air, harnesses.clients(compiled.harnesses))
    for word, what in (("served", served), ("if all were approved", costs)):
        print(f"{word}: {what['tools']} tools, {what['bytes']:,} bytes, about {what['tokens']:,} tokens")
    print(f"({costs['how']})")


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

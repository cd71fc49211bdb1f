"""``anvil explain``: for each gate of a tool, the line or the guess that it rests on."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anvil_core.air import file_of
from anvil_generator.errors import failure
from anvil_generator.markdown import plain
from anvil_runtime.bundle import Bundle, BundleError, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_core.air import Evidence, Operation

LONGEST_NOTE = 300
OWN_TOOL = "is Anvil's own tool: it shows the request of another one and sends nothing; explain that one"
# Gate, and the field of ``Evidence`` that it rests on.
GATES = {
    "state": "state",
    "confirmation": "confirmation",
    "human_approval": "confirmation.human_approval",
    "idempotency_key": "idempotency",
    "effect": "effect.kind",
    "risk": "effect.risk",
    "reversible": "effect.reversible",
    "retries": "retries",
    "auth": "auth",
    "origin": "origin",
}


def explain(
    folder: Annotated[Path, typer.Argument(help="The bundle's folder.", metavar="BUNDLE")],
    tool: Annotated[str, typer.Argument(help="A tool's name, an operation's id or its operationId.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the gates as JSON.")] = False,
) -> None:
    """Say for each gate of a tool which line of which file, or which guess, it rests on."""
    try:
        bundle = load(folder)
    except BundleError as error:
        raise failure("not_a_bundle", str(error), str(folder)) from None
    operation = _find(bundle, tool, folder)
    gates = list(_gates(bundle, operation))
    if as_json:
        source = operation.source
        said = {"ok": True, "tool": operation.name, "id": operation.id, "operation_id": source.operation_id}
        where = {"method": source.method.upper(), "path": source.path}
        print(json.dumps({**said, **where, "gates": gates}, indent=2))
        return
    print(f"{operation.name}  {operation.source.method.upper()} {operation.source.path}  ({operation.id})")
    for gate in gates:
        print(f"  {gate['gate']:<16} {gate['value']}")
        for ground, word in zip(gate["rests_on"], ("", *["over "] * len(gate["rests_on"])), strict=False):
            print(f"  {'':<16} {word}{_line(ground)}")


def _find(bundle: Bundle, name: str, folder: Path) -> Operation:
    operations = bundle.air.operations
    bare = name.rpartition("__")[2]  # tools have no double underscore, and what harnesses put before may
    for wanted in (name, bare):
        found = [one for one in operations if wanted in (one.name, one.id, one.source.operation_id)]
        exact = [one for one in found if wanted in (one.name, one.id)] or found
        if len(exact) == 1:
            return exact[0]
        if exact:
            message = (
                f'"{name}" is more than one operation; say which: {", ".join(one.name for one in exact)}'
            )
            raise failure("unknown_operation", message, str(folder), usage=True)
    if bare == bundle.air.preview:
        raise failure("unknown_operation", f'"{name}" {OWN_TOOL}', str(folder), usage=True)
    known = {alias: one.name for one in operations for alias in (one.name, one.id)}
    close = difflib.get_close_matches(bare.lower().replace("-", "_"), known, n=5, cutoff=0.5)
    near = list(dict.fromkeys(known[alias] for alias in close))
    guess = f"; near it: {', '.join(near)}" if near else "; `anvil inspect` lists them"
    raise failure("unknown_operation", f'there is no tool "{name}"{guess}', str(folder), usage=True)


def _gates(bundle: Bundle, operation: Operation) -> Iterator[dict[str, Any]]:
    """Each gate: its value, and what it rests on, the word that holds first."""
    evidence = (*operation.evidence, *bundle.air.service.evidence)
    values = _values(bundle, operation)
    for gate, field in GATES.items():
        grounds = [_ground(one, bundle, operation) for one in reversed(evidence) if one.field == field]
        yield {"gate": gate, "value": values[gate], "rests_on": grounds}


def _values(bundle: Bundle, operation: Operation) -> dict[str, str]:
    effect, key, confirmation = operation.effect, operation.idempotency, operation.confirmation
    asked = {"required": "required", "key_supported": "taken", "natural": "not needed", "none": "none"}[
        key.mode
    ]
    reason = f": {plain(confirmation.reason, LONGEST_NOTE)}" if confirmation.reason else ""
    return {
        "state": operation.state,
        "confirmation": "required" + reason if confirmation.required else "not required",
        "human_approval": "required" if confirmation.human_approval else "not required",
        "idempotency_key": asked + (f", {key.carrier} {plain(key.key)}" if key.key else ""),
        "effect": effect.kind,
        "risk": effect.risk,
        "reversible": {True: "yes", False: "no", None: "unknown"}[effect.reversible],
        "retries": operation.retries,
        "auth": " or ".join("+".join(map(plain, one)) or "nothing" for one in operation.auth) or "none",
        "origin": f"{bundle.air.service.origin}{bundle.air.service.base_path}",
    }


def _ground(one: Evidence, bundle: Bundle, operation: Operation) -> dict[str, Any]:
    """With its file and pointer said: those of the operation where the evidence has none of its own."""
    in_document = one.basis in ("document", "guess")
    pointer = one.pointer or (operation.source.pointer if in_document and one.line else None)
    document = (file_of(pointer) if pointer else None) or bundle.air.service.source.uri
    return {
        "basis": one.basis,
        "file": one.file or (document if in_document else None),
        "line": one.line,
        "pointer": pointer,
        "note": one.note,
    }


def _line(ground: dict[str, Any]) -> str:
    place = ground["file"] or ""
    if ground["line"]:
        place += f":{ground['line']}"
    if ground["pointer"]:
        place += f" {plain(ground['pointer'])}"
    return f"{ground['basis']}, {place}: {plain(ground['note'], LONGEST_NOTE)}"

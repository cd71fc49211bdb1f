"""The catalog: what the hook reads. One operation per line, sorted by tool name, one JSON document.

The form is the design's section 6; ``hookcore`` reads it by bisection and is tested against this
writer. ``contract_digest`` is the SHA-256 of the operation lines.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anvil_core.air import Air, Operation


def entry(operation: Operation) -> dict[str, Any]:
    """The operation's line, in the order of its fields there."""
    idempotency, confirmation = operation.idempotency, operation.confirmation
    return {
        "tool": operation.name,
        "id": operation.id,
        "state": operation.state,
        "deprecated": operation.deprecated,
        "effect": operation.effect.kind,
        "risk": operation.effect.risk,
        "reversible": operation.effect.reversible,
        "idempotency": {
            "mode": idempotency.mode,
            "argument": operation.controls.idempotency_key,
            "form": idempotency.form.model_dump() if idempotency.form else None,
        },
        "confirmation": {
            "required": confirmation.required,
            "argument": operation.controls.confirm,
            "reason": confirmation.reason,
            "human_approval": confirmation.human_approval,
        },
        "dry_run_argument": operation.controls.dry_run,
        "title": operation.title,
    }


def lines(air: Air) -> list[bytes]:
    """The operation lines without separators, sorted by tool name."""
    ordered = sorted(air.operations, key=lambda operation: operation.name)
    return [_line(entry(operation)) for operation in ordered]


def contract_digest(operation_lines: Sequence[bytes]) -> str:
    return hashlib.sha256(b"\n".join(operation_lines)).hexdigest()


def write(air: Air, prefixes: Mapping[str, Sequence[str]]) -> bytes:
    """The bytes of ``catalog.json``. ``prefixes``: what stands before a tool name, by harness."""
    operation_lines = lines(air)
    header = {
        "anvil": 1,
        "service": {
            "id": air.service.id,
            "title": air.service.title,
            "version": air.service.version,
            "origin": str(air.service.origin),
            "base_path": air.service.base_path,
        },
        "contract_digest": contract_digest(operation_lines),
        "prefixes": {harness: list(names) for harness, names in sorted(prefixes.items())},
        "preview": air.preview,
        "operations": [],
    }
    first = _line(header).removesuffix(b"]}")
    body = b",\n".join(operation_lines) + b"\n" if operation_lines else b""
    return first + b"\n" + body + b"]}\n"


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=True, separators=(", ", ": "), allow_nan=False).encode("ascii")

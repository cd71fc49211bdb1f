"""Small AIR values for tests: name what matters, the rest is a plain approved read."""

from __future__ import annotations

from typing import Any

from anvil_core.air import (
    Air,
    Confirmation,
    Controls,
    Effect,
    Idempotency,
    Input,
    KeyForm,
    Operation,
    Origin,
    Service,
    Source,
    SourceRef,
)

OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
READ = Effect(kind="read", action="get", risk="none")
CHANGE = Effect(kind="mutation", action="create", risk="low")
MONEY = Effect(kind="mutation", action="refund", risk="financial")


def make_operation(name: str = "get_item", **fields: Any) -> Operation:
    """An operation; ``fields`` are those of Operation. Without any: an approved read."""
    path = "/" + name.replace("_", "/")
    made: dict[str, Any] = {
        "id": f"shop.items.{name}",
        "name": name,
        "title": name,
        "source": SourceRef(path=path, method="get", operation_id=None, pointer=f"/paths/{path}/get", line=1),
        "input": Input(json_schema=OBJECT),
        "effect": READ,
        "idempotency": Idempotency(mode="natural"),
        "confirmation": Confirmation(required=False),
        "state": "approved",
    }
    return Operation(**{**made, **fields})


def make_refund(name: str = "refund_payment", **fields: Any) -> Operation:
    """A financial mutation that needs a confirmation and a key, and takes a dry run."""
    made: dict[str, Any] = {
        "effect": MONEY,
        "idempotency": Idempotency(mode="required", carrier="header", key="Idempotency-Key", form=KeyForm()),
        "confirmation": Confirmation(required=True, reason="It moves money."),
        "controls": Controls(confirm="confirm", idempotency_key="idempotency_key", dry_run="dry_run"),
    }
    return make_operation(name, **{**made, **fields})


def make_air(*operations: Operation, preview: str | None = None, service_id: str = "shop") -> Air:
    """A contract of these operations, sorted by name."""
    service = Service(
        id=service_id,
        version="1.2.3",
        title="Shop API",
        origin=Origin(scheme="https", host="api.shop.example", port=443),
        base_path="/v1",
        source=Source(kind="openapi-3.1", uri="openapi.yaml", sha256="0" * 64),
    )
    ordered = tuple(sorted(operations, key=lambda operation: operation.name))
    return Air(service=service, preview=preview, operations=ordered)

"""A small contract to try the runtime on, made from plain data, and a bundle folder as users have it."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import anvil_core
import anvil_runtime
import hookcore
from anvil_core.air import Air
from anvil_runtime.bundle import Bundle
from anvil_runtime.client import Answer
from anvil_runtime.execute import Executor

REFUND = {
    "id": "shop.refunds.create",
    "name": "refund_create",
    "title": "Refund a charge",
    "source": {
        "path": "/v1/charges/{charge}/refunds",
        "method": "post",
        "operation_id": None,
        "pointer": "/",
        "line": 1,
    },
    "input": {
        "parameters": [
            {
                "argument": "charge",
                "name": "charge",
                "location": "path",
                "required": True,
                "style": "simple",
                "explode": False,
                "json_schema": {"type": "string"},
            },
            {
                "argument": "expand",
                "name": "expand",
                "location": "query",
                "required": False,
                "style": "form",
                "explode": True,
                "json_schema": {"type": "array", "items": {"type": "string"}},
            },
        ],
        "constants": [{"name": "X-Version", "location": "header", "value": "7"}],
        "body": {
            "argument": "body",
            "media_type": "application/json",
            "required": True,
            "json_schema": {"$ref": "#/$defs/Refund"},
        },
        "json_schema": {
            "type": "object",
            "properties": {
                "charge": {"type": "string"},
                "expand": {"type": "array", "items": {"type": "string"}},
                "body": {"$ref": "#/$defs/Refund"},
            },
            "required": ["charge", "body"],
            "additionalProperties": False,
            "$defs": {
                "Refund": {
                    "type": "object",
                    "properties": {"amount": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
                    "required": ["amount"],
                    "additionalProperties": False,
                }
            },
        },
    },
    "output": {
        "media_type": "application/json",
        "json_schema": {
            "type": "object",
            "properties": {"id": {"$ref": "#/$defs/Id"}},
            "required": ["id"],
            "$defs": {"Id": {"type": "string"}},
        },
    },
    "effect": {"kind": "mutation", "action": "create", "risk": "financial", "reversible": False},
    "idempotency": {
        "mode": "required",
        "carrier": "header",
        "key": "Idempotency-Key",
        "form": {"format": "token", "min_length": 8, "max_length": 40},
    },
    "confirmation": {"required": True, "reason": "Money leaves the account.", "human_approval": False},
    "controls": {"confirm": "confirm", "idempotency_key": "idempotency_key", "dry_run": "dry_run"},
    "state": "approved",
}
READ = {
    "id": "shop.charges.get",
    "name": "charge_get",
    "title": "Get a charge",
    "source": {
        "path": "/v1/charges/{charge}",
        "method": "get",
        "operation_id": None,
        "pointer": "/",
        "line": 1,
    },
    "input": {
        "parameters": [REFUND["input"]["parameters"][0]],
        "json_schema": {
            "type": "object",
            "properties": {"charge": {"type": "string"}},
            "required": ["charge"],
        },
    },
    "output": REFUND["output"],
    "effect": {"kind": "read", "action": "get", "risk": "none"},
    "idempotency": {"mode": "natural"},
    "confirmation": {"required": False},
    "state": "approved",
}
PERSON = {
    **REFUND,
    "id": "shop.payouts.create",
    "name": "payout_create",
    "title": "Pay out",
    "confirmation": {"required": True, "reason": "It cannot be called back.", "human_approval": True},
    "controls": {"idempotency_key": "idempotency_key"},
}
BLOCKED = {**READ, "id": "shop.charges.scrub", "name": "charge_scrub", "state": "review_required"}
OPERATIONS = [BLOCKED, READ, PERSON, REFUND]

CLIENT = {
    "harness": "careful",
    "title": "Careful",
    "name": "careful-cli",
    "minimum": "1.0.0",
    "call_id": ["careful/call"],
    "decline": "person",
    "cancel": "not_approved",
}

FULL = {"charge": "ch_1", "body": {"amount": 5}, "confirm": True, "idempotency_key": "key-0001"}


def make_air(operations: list[dict[str, Any]], **service: Any) -> Air:
    return Air.model_validate(
        {
            "service": {
                "id": "shop",
                "version": "1",
                "title": "Shop",
                "origin": {"scheme": "https", "host": "api.shop.example", "port": 443},
                "base_path": "/api",
                "source": {"kind": "openapi-3.1", "uri": "shop.yaml", "sha256": "0" * 64},
                **service,
            },
            "preview": "preview",
            "operations": operations,
        }
    )


class Upstream:
    """Stands for the API: remembers the plans that reached it, and answers as told."""

    def __init__(self) -> None:
        self.plans: list[Any] = []
        self.answer: Answer | Exception = Answer(200, "OK", "application/json", b'{"id": "re_1"}')

    def send(self, plan: Any, origin: Any) -> Answer:
        self.plans.append((plan, origin))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def full() -> dict[str, Any]:
    """The arguments of a refund that nothing is missing in."""
    return json.loads(json.dumps(FULL))


@pytest.fixture
def contract():
    """A function: the contract, with changes to the operation of a name."""

    def make(name: str = "", service: dict[str, Any] | None = None, **changes: Any) -> Air:
        changed = [{**data, **changes} if data["name"] == name else data for data in OPERATIONS]
        return make_air(changed, **(service or {}))

    return make


@pytest.fixture
def operation(contract):
    """A function: one operation by name, with changes."""

    def make(name: str = "refund_create", **changes: Any):
        return Bundle(contract(name, **changes)).by_name[name]

    return make


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
def executor(contract, upstream):
    """A function: an executor over the contract, whose requests reach ``upstream``."""

    def make(name: str = "", *, environ: dict[str, str] | None = None, **changes: Any) -> Executor:
        return Executor(Bundle(contract(name, **changes)), environ=environ or {}, send=upstream.send)

    return make


@pytest.fixture
def bundle_folder(tmp_path, contract):
    """A bundle's server part, assembled as the compiler does: air.json, launcher, sources, lock, digests."""
    folder = tmp_path / "bundle"
    lib = folder / "mcp" / "lib"
    lib.mkdir(parents=True)
    (folder / "air.json").write_text(json.dumps(contract().model_dump(mode="json")), encoding="utf-8")
    (folder / "mcp" / "clients.json").write_text(json.dumps({"clients": [CLIENT]}), encoding="utf-8")
    runtime = Path(anvil_runtime.__file__).parent
    for package in (Path(anvil_core.__file__).parent, runtime):
        shutil.copytree(package, lib / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(hookcore.__file__, lib / "hookcore.py")
    shutil.copy(runtime / "launcher.py", folder / "mcp" / "server.py")
    shutil.copy(runtime / "requirements.lock", folder / "mcp" / "requirements.lock")
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
    (folder / "bundle.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    return folder


@contextmanager
def drip(first, then, pause: float = 0.01):
    """A server that never comes to an end: (port, an event that is set when its client is gone)."""
    listener = socket.create_server(("127.0.0.1", 0))
    gone = threading.Event()

    def work() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.settimeout(10)
            try:
                for part in itertools.chain(first, then):
                    connection.sendall(part)
                    time.sleep(pause)
                while connection.recv(65536):
                    pass
            except OSError:
                pass
        gone.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        yield listener.getsockname()[1], gone
    finally:
        listener.close()


@pytest.fixture
def dripping():
    """``drip``, for a test that wants a server which never comes to an end."""
    return drip

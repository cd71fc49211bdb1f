"""The tools as the server lists them: one plain object each, with MCP's names (MCP 2025-11-25, Tool)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anvil_core import tools
from anvil_runtime import answers, served

if TYPE_CHECKING:
    from anvil_core.air import Air, Operation
    from anvil_core.clients import Clients

PREVIEW_HINTS = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


def tool_list(air: Air, clients: Clients) -> list[dict[str, Any]]:
    """The approved operations and the preview tool, sorted by name."""
    listed = [operation_tool(one, clients) for one in air.operations if one.state == "approved"]
    if air.preview:
        listed.append(preview_tool(air, air.preview))
    return sorted(listed, key=lambda tool: str(tool["name"]))


def operation_tool(operation: Operation, clients: Clients) -> dict[str, Any]:
    return {
        "name": operation.name,
        "title": operation.title,
        "description": tools.description(operation),
        "inputSchema": served.input_schema(tools.input_schema(operation)),
        "outputSchema": served.output_schema(answers.output_schema(operation)),
        "annotations": tools.hints(operation),
        "_meta": {**contract_meta(operation), **person_meta(operation, clients)},
    }


def contract_meta(operation: Operation) -> dict[str, Any]:
    """The contract beside the tool, for clients that read it. ``auth``: alternatives of scheme ids."""
    return {
        "anvil/effect": operation.effect.kind,
        "anvil/risk": operation.effect.risk,
        "anvil/retries": operation.retries,
        "anvil/auth": [list(schemes) for schemes in operation.auth],
    }


def person_meta(operation: Operation, clients: Clients) -> dict[str, Any]:
    """What makes a harness ask a person about the tool, for all that are known: the list is one for all."""
    asked = clients.clients if operation.confirmation.human_approval else ()
    return {key: value for client in asked for key, value in client.tool_meta.items()}


def preview_tool(air: Air, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": "Preview",
        "description": tools.PREVIEW_DESCRIPTION,
        "inputSchema": tools.preview_schema(air),
        "outputSchema": answers.plan_schema(),
        "annotations": {"title": "Preview", **PREVIEW_HINTS},
        "_meta": {"anvil/effect": "read", "anvil/risk": "none", "anvil/retries": "safe", "anvil/auth": []},
    }

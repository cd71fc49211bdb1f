"""The tool that an operation becomes: the same schema and words for the server and the skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anvil_core.air import Air, JsonSchema, KeyForm, Operation, Pagination

PREVIEW_DESCRIPTION = (
    "Shows the exact request that an operation would send, and sends nothing. "
    "Give the operation's tool name and the arguments that you would call it with."
)


def input_schema(operation: Operation) -> JsonSchema:
    """The tool's whole input schema: the document's arguments and Anvil's own, root ``type: object``.

    Anvil's arguments are optional here, so that a call without them reaches the gate, whose refusal
    names everything that is missing at once.
    """
    schema = dict(operation.input.json_schema)
    properties = dict(schema.get("properties", {}))
    controls = operation.controls
    if controls.idempotency_key and operation.idempotency.form:
        form, mode = operation.idempotency.form, operation.idempotency.mode
        properties[controls.idempotency_key] = _key_schema(form, mode)
    if controls.confirm:
        properties[controls.confirm] = {
            "type": "boolean",
            "description": "Required: true confirms the call. Only if the user asked for exactly this. "
            + operation.confirmation.reason,
        }
    if controls.dry_run:
        properties[controls.dry_run] = {
            "type": "boolean",
            "description": "true shows the exact request and sends nothing.",
        }
    return {**schema, "properties": properties, "additionalProperties": False}


def _key_schema(form: KeyForm, mode: str) -> dict[str, Any]:
    need = "Required: a" if mode == "required" else "A"
    schema: dict[str, Any] = {
        "type": "string",
        "minLength": form.min_length,
        "maxLength": form.max_length,
        "pattern": "^[!-~]*$",
        "description": f"{need} text unique to this one intended change; "
        "the same text only to repeat the same call.",
    }
    if form.format == "uuid":
        schema["pattern"] = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    return schema


def preview_schema(air: Air) -> JsonSchema:
    """The preview tool's input: which operation, and the arguments one would call it with."""
    names = sorted(operation.name for operation in air.operations if operation.state == "approved")
    return {
        "type": "object",
        "properties": {
            "operation": {"type": "string", "enum": names, "description": "The operation's tool name."},
            "arguments": {"type": "object", "description": "The arguments of the call to preview."},
        },
        "required": ["operation", "arguments"],
        "additionalProperties": False,
    }


def hints(operation: Operation) -> dict[str, bool | str]:
    """MCP tool annotations, all four hints given (MCP 2025-11-25, ToolAnnotations)."""
    read = operation.effect.kind == "read"
    return {
        "title": operation.title,
        "readOnlyHint": read,
        "destructiveHint": not read and operation.effect.reversible is not True,
        "idempotentHint": operation.idempotency.mode != "none",
        "openWorldHint": False,
    }


def description(operation: Operation) -> str:
    """What the model reads of a tool: what it does, what the contract asks, what to look out for."""
    parts = [operation.description or operation.title]
    parts.extend(contract_sentences(operation))
    return "\n\n".join(part for part in parts if part)


def contract_sentences(operation: Operation) -> list[str]:
    """The contract of one operation in plain sentences."""
    effect, said = operation.effect, []
    if effect.kind == "mutation":
        undo = {True: "can be undone", False: "cannot be undone", None: "not known to be reversible"}
        said.append(f"Changes data; risk: {effect.risk}; {undo[effect.reversible]}.")
    if operation.confirmation.human_approval:
        said.append(f"A person must approve each call; you cannot. {operation.confirmation.reason}".strip())
    elif operation.controls.confirm:
        said.append(f"Needs `{operation.controls.confirm}: true`. {operation.confirmation.reason}".strip())
    if operation.controls.idempotency_key and operation.idempotency.mode == "required":
        said.append(f"Needs `{operation.controls.idempotency_key}`, a text unique to the intended change.")
    if operation.deprecated:
        said.append("The API has marked it as deprecated.")
    if operation.pagination:
        said.append(_paging_sentence(operation.pagination))
    if operation.long_running and effect.kind == "read":
        said.append("May answer before it is ready (202); call it again later.")
    elif operation.long_running:
        asked = f" with `{operation.status_tool}`" if operation.status_tool else ""
        said.append(f"Starts work that goes on after the answer; ask for its state afterwards{asked}.")
    return said


def _paging_sentence(paging: Pagination) -> str:
    size = f"; `{paging.size}` sets how much is on one" if paging.size else ""
    if paging.style == "cursor":
        cursor = f"the value of `{paging.next}`" if paging.next else "the cursor"
        return f"Pages its results: `{paging.steer}` takes {cursor} of the page before{size}."
    if paging.style == "page":
        return f"Pages its results: `{paging.steer}` says which page{size}."
    if paging.style == "offset":
        return f"Pages its results: `{paging.steer}` says from where on{size}."
    if paging.style == "link":
        return f"Its answer may be one page of several{size}."
    return f"Pages its results: {', '.join(f'`{name}`' for name in paging.arguments)}."

"""The tool's input schema, from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anvil_core.air import Body, JsonSchema, Parameter

_PREFIX = "#/$defs/"


def assemble(
    parameters: Sequence[Parameter], body: Body | None, definitions: Mapping[str, JsonSchema]
) -> JsonSchema:
    """An object with one property per parameter and one for the body, and the ``$defs`` these reach."""
    given: list[Parameter | Body] = [*parameters, *([body] if body else [])]
    properties = {part.argument: part.json_schema for part in given}
    required = [part.argument for part in given if part.required]
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    reached = reachable(list(properties.values()), definitions)
    if reached:
        schema["$defs"] = reached
    return schema


def reachable(start: Sequence[Any], definitions: Mapping[str, JsonSchema]) -> dict[str, JsonSchema]:
    """The definitions that these schemas refer to, directly or not, sorted by name."""
    found: dict[str, JsonSchema] = {}
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            waiting.extend(node.values())
            reference = node.get("$ref")
            name = reference.removeprefix(_PREFIX) if isinstance(reference, str) else ""
            if name in definitions and name not in found:
                found[name] = definitions[name]
                waiting.append(definitions[name])
    return dict(sorted(found.items()))

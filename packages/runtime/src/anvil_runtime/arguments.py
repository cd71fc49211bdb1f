"""The arguments of a call against the operation's schema: everything that is wrong, at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft202012Validator

from anvil_runtime.words import kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema_rs import ValidationError

    from anvil_core.air import JsonSchema, Operation
    from anvil_runtime.words import Need

MOST_PROBLEMS = 20
LONGEST_PROBLEM = 300
_EXAMPLES: dict[str, Any] = {
    "string": "text", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None
}  # fmt: skip


def control_names(operation: Operation) -> tuple[str, ...]:
    """Anvil's own arguments: each has a gate of its own, which says more than a schema could."""
    controls = operation.controls
    return tuple(name for name in (controls.confirm, controls.idempotency_key, controls.dry_run) if name)


def without_controls(operation: Operation, args: dict[str, Any]) -> dict[str, Any]:
    own = control_names(operation)
    return {name: value for name, value in args.items() if name not in own}


@dataclass
class Validators:
    """The compiled schemas of a bundle, each made on its first use: a server start needs none."""

    made: dict[str, Draft202012Validator] = field(default_factory=dict)

    def get(self, key: str, schema: JsonSchema) -> Draft202012Validator:
        if key not in self.made:
            # Offline: a schema never makes the server fetch anything.
            self.made[key] = Draft202012Validator(schema, offline=True)
        return self.made[key]


def problems(operation: Operation, args: dict[str, Any], validators: Validators) -> list[Need]:
    """What is wrong with the operation's own arguments; Anvil's are left to their gates."""
    unsendable = not_json(args)
    if unsendable:
        return [need("(all)", "object", unsendable, {})]
    schema = {**operation.input.json_schema, "type": "object", "additionalProperties": False}
    validator = validators.get("input:" + operation.name, schema)
    return schema_problems(validator, schema, without_controls(operation, args))


def not_json(value: object) -> str | None:
    """Why a value cannot be written as JSON in UTF-8, or None."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return "hold text with a lone surrogate, which cannot be sent."
    except (ValueError, TypeError, RecursionError):
        return "hold NaN, an infinity or a value that JSON does not have."
    return None


def schema_problems(validator: Draft202012Validator, schema: JsonSchema, value: object) -> list[Need]:
    found = [need for error in validator.iter_errors(value) for need in _words_for(error, schema)]
    ordered = sorted(found, key=lambda need: str(need["argument"]))
    if len(ordered) > MOST_PROBLEMS:
        rest = f"{len(ordered) - MOST_PROBLEMS} more problems."
        return [*ordered[:MOST_PROBLEMS], need("(others)", "any", rest, None)]
    return ordered


def need(argument: str, type_: str, problem: str, example: object) -> Need:
    return {"argument": argument, "type": type_, "problem": problem[:LONGEST_PROBLEM], "example": example}


def _words_for(error: ValidationError, schema: JsonSchema) -> Iterator[Need]:
    """One schema error in words; several for one error that names several arguments."""
    where, details = list(error.instance_path), error.kind.as_dict()
    keyword = str(error.schema_path[-1]) if error.schema_path else ""
    if keyword == "required":
        missing = [*where, details["property"]]
        yield _about(missing, schema, "missing.")
    elif keyword in {"additionalProperties", "unevaluatedProperties"} and "unexpected" in details:
        for name in details["unexpected"]:
            yield need(
                path_text([*where, name]), "none", "is not an argument of this operation. Leave it out.", None
            )
    elif keyword == "type":
        yield _about(where, schema, f"must be {_one_of(details['types'])}, not {kind(error.instance)}.")
    elif keyword == "enum":
        options = ", ".join(json.dumps(option, ensure_ascii=False) for option in details["options"])
        yield _about(where, schema, f"must be one of {options}, not {kind(error.instance)}.")
    else:
        yield _about(where, schema, f"does not fit: {error.message}.")


def _one_of(types: list[str]) -> str:
    words = [name if name == "null" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in types]
    return " or ".join(words)


def _about(where: list[str | int], schema: JsonSchema, problem: str) -> Need:
    part = schema_at(schema, where)
    return need(path_text(where), type_text(part), problem, example_for(part))


def path_text(where: list[str | int]) -> str:
    """``["body", "items", 0, "amount"]`` as ``body.items[0].amount``; the whole as ``(all)``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    return text.removeprefix(".") or "(all)"


def schema_at(schema: JsonSchema, where: list[str | int]) -> JsonSchema:
    """The part of the schema that speaks of a place in the arguments, as far as it is plain."""
    part: Any = schema
    for step in where:
        part = _follow(schema, part)
        below = part.get("items") if isinstance(step, int) else part.get("properties", {}).get(step)
        part = below if isinstance(below, dict) else {}
    return _follow(schema, part)


def _follow(root: JsonSchema, part: JsonSchema) -> JsonSchema:
    for _ in range(20):  # a chain of references is short; one that goes round ends here
        pointer = part.get("$ref")
        if not isinstance(pointer, str) or not pointer.startswith("#/$defs/"):
            break
        target = root.get("$defs", {}).get(
            pointer.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        )
        part = target if isinstance(target, dict) else {}
    return part


def type_text(schema: JsonSchema) -> str:
    types = schema.get("type", "any")
    text = types if isinstance(types, str) else " or ".join(types)
    return f"{text}, {schema['format']}" if isinstance(schema.get("format"), str) else text


def example_for(schema: JsonSchema) -> Any:
    """A value of the right kind: the document's own where it has one."""
    for key in ("example", "default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    types = schema.get("type", "string")
    first = types if isinstance(types, str) else next(iter(types), "string")
    return _EXAMPLES.get(first)

"""Calls made from tool schemas, as plain data: ``{"tool": str, "args": any JSON value, "kind": str}``.

Nothing here knows a gate, a hook or an executor: given the tools of a bundle and a seed, the same list
comes out, so that two rings can be asked the same and a larger run can go on where this one ends.
"""

from __future__ import annotations

import copy
import json
import random
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BAD_CONFIRM = ["yes", "true", 1, None, False, 0, "", [True], {}]
BAD_KEY = [
    "",
    "a",
    " " * 12,
    "with a space in",
    "line\nbreak-key",
    "ключ-ключ-ключ",
    12345678,
    True,
    [],
    "k" * 400,
]
BAD_DRY_RUN = ["true", "yes", 1, None, False, [], {}]
EXTRA = ["extra", "approval_note", "human_approval", "approved", ""]
# Kinds that set one argument: which of Anvil's own (or one that is unknown), and to what.
CHANGES: dict[str, tuple[str, list[Any]]] = {
    "bad_confirm": ("confirm", BAD_CONFIRM),
    "bad_key": ("idempotency_key", BAD_KEY),
    "dry_run": ("dry_run", [True]),
    "dry_run_bare": ("dry_run", [True]),
    "bad_dry_run": ("dry_run", BAD_DRY_RUN),
    "unknown_argument": ("", [True]),
    "not_canonical": ("", [2**53 + 2, -(2**60), 1e300, "\ud800"]),
}
NOT_OBJECTS: list[Any] = [None, [], ["confirm"], "confirm", 7, True]
KEY = "order-4711-attempt-1"
# How often each kind is made, for one that the tool allows.
KINDS = {
    "whole": 30,
    "bare": 8,
    "no_confirm": 6,
    "bad_confirm": 8,
    "no_key": 6,
    "bad_key": 8,
    "dry_run": 6,
    "dry_run_bare": 5,
    "bad_dry_run": 5,
    "own_names_swapped": 2,
    "unknown_argument": 3,
    "not_an_object": 2,
}


def tools_of(bundle: Path) -> list[dict[str, Any]]:
    """What a caller can know of each operation: its name, state, schema and Anvil's arguments in it."""
    air = json.loads((bundle / "air.json").read_text(encoding="utf-8"))
    return [
        {
            "tool": operation["name"],
            "state": operation["state"],
            "schema": _whole(operation["input"]["json_schema"], air["definitions"]["request"]),
            "controls": operation["controls"],
            "key_form": operation["idempotency"]["form"],
            "human": operation["confirmation"]["human_approval"],
        }
        for operation in air["operations"]
    ]


def _whole(schema: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions, of which the file has the names alone."""
    names = schema.get("$defs")
    return {**schema, "$defs": {name: shared[name] for name in names}} if isinstance(names, list) else schema


def calls(tools: list[dict[str, Any]], preview: str | None, seed: int, count: int) -> list[dict[str, Any]]:
    """``count`` calls, always the same ones for a seed."""
    if not any(tool["state"] == "approved" for tool in tools):
        raise ValueError("no operation of the bundle is approved: its approvals are out of date")
    made = _stream(tools, preview, random.Random(seed))  # noqa: S311  # the same calls for a seed
    return [next(made) for _ in range(count)]


def _stream(
    tools: list[dict[str, Any]], preview: str | None, chance: random.Random
) -> Iterator[dict[str, Any]]:
    approved = [tool for tool in tools if tool["state"] == "approved"]
    gated = [tool for tool in approved if tool["controls"]["confirm"] or tool["controls"]["idempotency_key"]]
    others = [tool for tool in tools if tool["state"] != "approved"]
    human = [tool for tool in approved if tool["human"]]
    names = [tool["tool"] for tool in tools]
    while True:
        turn = chance.random()
        if turn < 0.04:
            yield {"tool": _invented(names, chance), "args": {}, "kind": "unknown_tool"}
        elif turn < 0.12 and others:
            yield _call(
                chance.choice(others), chance, {"whole": 1, "bare": 1, "not_an_object": 1}, "unapproved:"
            )
        elif turn < 0.22 and preview:
            yield _preview(preview, tools, names, chance)
        elif turn < 0.30 and human:
            yield _call(chance.choice(human), chance, {**KINDS, "not_canonical": 12}, "human:")
        elif turn < 0.75 and gated:
            yield _call(chance.choice(gated), chance, KINDS)
        else:
            yield _call(chance.choice(approved), chance, KINDS)


def _invented(names: list[str], chance: random.Random) -> str:
    name = chance.choice(names)
    made = chance.choice(
        [name + "x", name[:-1], "a", "zzz", name.upper(), "previews", "", f"{name} ", f"{name}\n"]
    )
    return f"{made}_no" if made in names else made


def _preview(
    preview: str, tools: list[dict[str, Any]], names: list[str], chance: random.Random
) -> dict[str, Any]:
    tool = chance.choice(tools)
    good = {"operation": tool["tool"], "arguments": arguments(tool["schema"], chance)}
    turn = chance.randrange(6)
    if turn < 3:
        return {"tool": preview, "args": good, "kind": "preview"}
    if turn == 3:
        wrong: Any = chance.choice([_invented(names, chance), 7, None, [], preview])
        return {"tool": preview, "args": {**good, "operation": wrong}, "kind": "preview:bad_operation"}
    if turn == 4:
        return {"tool": preview, "args": chance.choice(NOT_OBJECTS), "kind": "preview:not_an_object"}
    return {"tool": preview, "args": {"arguments": {}}, "kind": "preview:no_operation"}


def _call(
    tool: dict[str, Any], chance: random.Random, kinds: dict[str, int], prefix: str = ""
) -> dict[str, Any]:
    controls = tool["controls"]
    open_to = {
        "no_confirm": controls["confirm"],
        "bad_confirm": controls["confirm"],
        "no_key": controls["idempotency_key"],
        "bad_key": controls["idempotency_key"],
        "dry_run": controls["dry_run"],
        "dry_run_bare": controls["dry_run"],
        "bad_dry_run": controls["dry_run"],
    }
    possible = {kind: weight for kind, weight in kinds.items() if open_to.get(kind, True)}
    kind = chance.choices(list(possible), list(possible.values()))[0]
    return {"tool": tool["tool"], "args": _with_kind(tool, kind, chance), "kind": prefix + kind}


def _with_kind(tool: dict[str, Any], kind: str, chance: random.Random) -> Any:
    if kind == "not_an_object":
        return chance.choice(NOT_OBJECTS)
    controls = tool["controls"]
    confirm, key = controls["confirm"], controls["idempotency_key"]
    args = arguments(tool["schema"], chance)
    whole: dict[str, Any] = {confirm: True} if confirm else {}
    if key:
        whole[key] = good_key(tool["key_form"], chance)
    if kind in ("bare", "dry_run_bare", "own_names_swapped"):
        whole = {}
    args = {**args, **whole}
    if kind in ("no_confirm", "no_key"):
        del args[confirm if kind == "no_confirm" else key]
    elif kind == "own_names_swapped":
        args |= {"Confirm": True, "confirmed": True, "idempotencyKey": KEY, "dryRun": True}
    elif kind in CHANGES:
        argument, values = CHANGES[kind]
        args[controls.get(argument, chance.choice(EXTRA))] = copy.copy(chance.choice(values))
    return args


def good_key(form: dict[str, Any] | None, chance: random.Random) -> str:
    """A new key each time: the same one twice would be a replay, or a conflict."""
    number = f"{chance.getrandbits(128):032x}"
    if form and form["format"] == "uuid":
        return "-".join([number[:8], number[8:12], number[12:16], number[16:20], number[20:]])
    longest, shortest = (form["max_length"], form["min_length"]) if form else (255, 1)
    return number.ljust(shortest, "x")[:longest]


def arguments(schema: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Arguments that fit the schema, as far as its plain keywords go: all required ones, some others."""
    made = value_for(schema, schema.get("$defs", {}), chance, 0)
    return made if isinstance(made, dict) else {}


def value_for(  # noqa: PLR0911  # one return for each form of schema
    schema: Any, defs: dict[str, Any], chance: random.Random, depth: int
) -> Any:
    """One value for a schema. Optional parts end where it gets deep."""
    if not isinstance(schema, dict):
        return "text"
    if "$ref" in schema:
        return value_for(defs.get(schema["$ref"].removeprefix("#/$defs/"), {}), defs, chance, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return chance.choice(schema["enum"])
    for many in ("oneOf", "anyOf"):
        if schema.get(many):
            one = value_for(schema[many][0], defs, chance, depth + 1)
            rest = {key: part for key, part in schema.items() if key != many}
            return _joined(one, value_for(rest, defs, chance, depth)) if rest.get("properties") else one
    if schema.get("allOf"):
        rest = {key: part for key, part in schema.items() if key != "allOf"}
        made: Any = value_for(rest, defs, chance, depth) if rest.get("properties") else {}
        for part in schema["allOf"]:
            made = _joined(made, value_for(part, defs, chance, depth + 1))
        return made
    types = schema.get("type", "object" if "properties" in schema else "string")
    return _plain(types if isinstance(types, str) else types[0], schema, defs, chance, depth)


def _joined(one: Any, other: Any) -> Any:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else other


def _plain(kind: str, schema: dict[str, Any], defs: dict[str, Any], chance: random.Random, depth: int) -> Any:
    if kind == "object":
        needed = schema.get("required", [])
        return {
            name: value_for(part, defs, chance, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in needed or (depth < 2 and chance.random() < 0.2)
        }
    if kind == "array":
        least = max(schema.get("minItems", 0), 0 if depth > 4 else 1)
        return [value_for(schema.get("items", {}), defs, chance, depth + 1) for _ in range(least)]
    if kind in ("integer", "number"):
        return max(schema.get("minimum", 1), 1 if schema.get("maximum", 1) >= 1 else schema["maximum"])
    return {"boolean": True, "null": None}.get(kind, _text(schema))


def _text(schema: dict[str, Any]) -> str:
    texts = {
        "date": "2026-11-30",
        "date-time": "2026-11-30T12:00:00Z",
        "email": "a@shop.example",
        "uuid": "3f0e7c52-9b1d-4c53-8a44-5d1b6a0f2e11",
        "uri": "https://shop.example/a",
    }
    samples = [
        texts.get(schema.get("format", ""), "text"),
        "cus_1",
        "1.00",
        "USD",
        "A1",
        "1",
        "a" * 13,
        "2026-11-30T12:00:00Z",
    ]
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 1000)
    samples = [sample.ljust(shortest, sample[-1])[:longest] for sample in samples]
    pattern = schema.get("pattern")
    fitting = [sample for sample in samples if not pattern or _matches(pattern, sample)]
    return (fitting or samples)[0]


def _matches(pattern: str, sample: str) -> bool:
    try:
        return re.search(pattern, sample) is not None
    except re.error:
        return True

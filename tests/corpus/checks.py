"""What must hold for each document of the corpus, whatever it is like. Each check gives complaints."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import yaml

from anvil_core import names, tools
from anvil_generator import harnesses
from anvil_generator.report import report
from anvil_generator.sources import text
from anvil_runtime.answers import output_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anvil_core.air import Operation
    from anvil_generator.compiler import Compiled

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
COMBINATORS = {"allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef"}
NAMED = {"properties", "patternProperties", "$defs", "dependentSchemas"}
DATA = {"default", "const", "enum", "examples"}


def counts(compiled: Compiled) -> dict[str, Any]:
    """What a change of the compiler may change, as data."""
    document, operations = compiled.document, compiled.air.operations
    schemas = [len(json.dumps(tools.input_schema(one))) for one in operations]
    return {
        "kind": document.kind,
        "operations": compiled.total,
        "compiled": len(operations),
        "withheld": _sorted(Counter(one.reason for one in document.withheld)),
        "failed": _sorted(Counter(one.problem.code for one in document.failed)),
        "warnings": _sorted(Counter(one.code for one in document.problems)),
        "reads": sum(one.effect.kind == "read" for one in operations),
        "review_required": sum(one.state == "review_required" for one in operations),
        "largest_schema": max(schemas, default=0),
    }


def _sorted(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items()))


def accounting(compiled: Compiled, path: Path) -> Iterator[str]:
    """Every operation of the document is in exactly one list, counted here by other code."""
    raw = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CBaseLoader)  # JSON is YAML
    wanted = {
        (method.upper(), name)
        for name, item in raw["paths"].items()
        if not name.startswith("x-")
        for method in METHODS & item.keys()
    }
    entries = [one for part in report(compiled)["accounting"].values() for one in part]
    found = Counter((one["method"], one["path"]) for one in entries)
    for place in sorted(wanted ^ found.keys()):
        yield f"{place} is in the document or in the report, and not in both"
    for place, times in found.items():
        if times > 1:
            yield f"{place} is accounted for {times} times"


def schemas(compiled: Compiled) -> Iterator[str]:
    """Every schema that would be served: valid 2020-12, a plain object at its root, closed."""
    for operation in compiled.air.operations:
        for what, schema in (
            ("input", tools.input_schema(operation)),
            ("output", output_schema(operation)),
        ):
            for complaint in _schema(schema):
                yield f"{operation.name}: {what}: {complaint}"


def _schema(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object" or COMBINATORS & schema.keys():
        yield "its root is no plain object"
    if not jsonschema_rs.meta.is_valid({**DIALECT, **schema}):
        yield "is not valid 2020-12"
        return
    try:
        jsonschema_rs.Draft202012Validator(schema)
    except (ValueError, jsonschema_rs.ValidationError) as error:
        yield f"no validator takes it: {error}"
    known = {f"#/$defs/{name}" for name in schema.get("$defs", {})}
    for reference in sorted(set(references(schema)) - known):
        yield f"{reference} leads nowhere"


def references(schema: Any) -> Iterator[str]:
    """The references of a schema, leaving out names of properties and data."""
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value
            elif key in NAMED:
                yield from references(list(value.values()))
            elif key not in DATA:
                yield from references(value)


def tool_names(compiled: Compiled) -> Iterator[str]:
    """Names are unique, survive every harness, and fit behind the longest prefix of each."""
    found = Counter(one.name for one in compiled.air.operations)
    yield from (f"{name} is the name of {times} tools" for name, times in found.items() if times > 1)
    ids = Counter(one.id for one in compiled.air.operations)
    yield from (f"{one} is the id of {times} operations" for one, times in ids.items() if times > 1)
    prefixes = harnesses.longest_prefixes(compiled.air.service.id)
    for name in found:
        if not re.fullmatch(names.TOOL_NAME, name) or name == names.RESERVED:
            yield f"{name} is no name for a tool"
        for harness, prefix in prefixes.items():
            if len(prefix + name) > names.LONGEST_WHOLE_NAME:
                yield f"{prefix}{name} has {len(prefix + name)} characters in {harness}"


def shuffled(path: Path, seed: int) -> str:
    """The document as JSON with its paths, methods and components in another order."""
    chance = random.Random(seed)
    root: dict[str, Any] = text.parse(path.read_text(encoding="utf-8"), json_only=False).root
    paths = {key: _mixed(item, chance) for key, item in root["paths"].items()}
    parts = {key: _mixed(part, chance) for key, part in root.get("components", {}).items()}
    more = {"components": parts} if parts else {}
    return json.dumps({**root, "paths": _mixed(paths, chance), **more}, indent=1)


def _mixed(value: Any, chance: random.Random) -> Any:
    if not isinstance(value, dict):
        return value
    items = list(value.items())
    chance.shuffle(items)
    return dict(items)


def same_contract(one: Compiled, other: Compiled) -> Iterator[str]:
    """Two orders of one document give the same operations, but for where they stand."""
    here, there = ({op.id: _contract(op) for op in made.air.operations} for made in (one, other))
    for identifier in sorted(here.keys() | there.keys()):
        if here.get(identifier) != there.get(identifier):
            yield f"{identifier} is not the same when the document's order is another"


def _contract(operation: Operation) -> dict[str, Any]:
    data = operation.model_dump(mode="json")
    for key in ("line", "pointer"):
        del data["source"][key]
    for evidence in data["evidence"]:
        for key in ("line", "pointer"):
            evidence.pop(key, None)
    return data

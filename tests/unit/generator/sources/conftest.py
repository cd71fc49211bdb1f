from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
import yaml

from anvil_generator.sources import assemble, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_generator.sources import Document, FoundOperation

ROOT = Path(__file__).parents[4]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
DOCUMENTS = {
    "paypal": ROOT / "examples/paypal-payments/openapi.json",
    "notion": ROOT / "examples/notion/openapi.json",
    "payments": ROOT / "examples/payments/openapi.yaml",
    "petstore3": ROOT / "tests/corpus/documents/petstore3.yaml",
    "museum_31": ROOT / "tests/corpus/documents/museum_31.yaml",
    "box-v2026": ROOT / "tests/corpus/documents/box-v2026.json",
}


def _count_operations(raw: dict[str, Any]) -> int:
    """Independent of the code under test: the method keys of the path items."""
    return sum(len(METHODS & item.keys()) for item in raw["paths"].values())


def _load(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    return loaded


def _check_schema(schema: dict[str, Any]) -> None:
    """Valid draft 2020-12, and every reference leads to one of its own definitions."""
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    jsonschema_rs.Draft202012Validator(schema)
    for reference in _references(schema):
        assert reference.startswith("#/$defs/"), reference
        assert reference.removeprefix("#/$defs/") in schema["$defs"], reference


def _references(schema: Any) -> list[str]:
    """The references of a schema, leaving out names of properties and data."""
    found: list[str] = []
    if isinstance(schema, list):
        return [reference for item in schema for reference in _references(item)]
    if not isinstance(schema, dict):
        return found
    for key, value in schema.items():
        if key == "$ref":
            found.append(value)
        elif key in {"properties", "patternProperties", "$defs", "dependentSchemas"}:
            found += [reference for item in value.values() for reference in _references(item)]
        elif key not in {"default", "const", "enum", "examples"}:
            found += _references(value)
    return found


def _tool(operation: FoundOperation) -> dict[str, Any]:
    return assemble(operation.parameters, operation.body, operation.definitions)


def _accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(value))


@pytest.fixture
def documents() -> dict[str, Path]:
    return DOCUMENTS


@pytest.fixture
def count_operations() -> Callable[[Path], int]:
    return lambda path: _count_operations(_load(path))


@pytest.fixture
def check_schema() -> Callable[[dict[str, Any]], None]:
    return _check_schema


@pytest.fixture
def tool() -> Callable[[FoundOperation], dict[str, Any]]:
    return _tool


@pytest.fixture
def accepts() -> Callable[[dict[str, Any], Any], bool]:
    return _accepts


@pytest.fixture
def make() -> Callable[..., Document]:
    """A document from its paths and components; every schema that comes out of it is checked."""

    def build(paths: Any, version: str = "3.0.3", **top: Any) -> Document:
        raw = {
            "openapi": version,
            "info": {"title": "T", "version": "1"},
            "servers": [{"url": "https://api.example.com/v1"}],
            "paths": paths,
            **top,
        }
        document = read_bytes(json.dumps(raw, indent=1).encode(), "t.json")
        for operation in document.operations:
            _check_schema(_tool(operation))
            if operation.output.json_schema is not None:
                _check_schema(operation.output.json_schema)
        return document

    return build


@pytest.fixture
def one(make: Callable[..., Document]) -> Callable[..., FoundOperation]:
    """The only operation of a document with one path; it must compile."""

    def build(
        operation: dict[str, Any], path: str = "/a", method: str = "post", **rest: Any
    ) -> FoundOperation:
        document = make({path: {method: operation}}, **rest)
        assert (document.withheld, document.failed) == ((), ())
        (found,) = document.operations
        return found

    return build


@pytest.fixture
def schema_of(one: Callable[..., FoundOperation]) -> Callable[..., dict[str, Any]]:
    """The tool's schema for a JSON body with the given schema."""

    def build(schema: Any, **rest: Any) -> dict[str, Any]:
        operation = one(
            {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}, **rest
        )
        return _tool(operation)

    return build

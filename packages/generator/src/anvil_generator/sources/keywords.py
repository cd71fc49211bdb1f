"""The keywords of JSON Schema 2020-12 that are kept, by what stands under them.

Everything else (``$id``, ``discriminator``, ``xml``, ``externalDocs``, ``x-*``, ...) has no meaning for
a caller or would break references, and is dropped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

ONE_SCHEMA = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SCHEMA_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP = frozenset({"dependentSchemas", "patternProperties", "properties"})

# Only ``$ref`` by pointer is followed; ignoring another one loosens the schema, so it is reported.
REFERENCES = frozenset({"$dynamicRef", "$recursiveRef", "$ref"})


@lru_cache(maxsize=4096)
def is_pattern(value: str) -> bool:
    """Whether the runtime's validator can use it: a pattern it cannot read would cost the whole tool."""
    try:
        jsonschema_rs.validator_for({"pattern": value})
    except (ValueError, jsonschema_rs.ValidationError):
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(name, str) and name in TYPES for name in value)
    return isinstance(value, str) and value in TYPES


def _is_dependents(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_names(names) for names in value.values())


def _is_anything(_: Any) -> bool:
    return True


PLAIN: dict[str, Callable[[Any], bool]] = {
    "const": _is_anything,
    "contentEncoding": _is_text,
    "contentMediaType": _is_text,
    "default": _is_anything,
    "dependentRequired": _is_dependents,
    "deprecated": _is_flag,
    "description": _is_text,
    "enum": _is_list,
    "examples": _is_list,
    "exclusiveMaximum": _is_number,
    "exclusiveMinimum": _is_number,
    "format": _is_text,
    "maxContains": _is_count,
    "maxItems": _is_count,
    "maxLength": _is_count,
    "maxProperties": _is_count,
    "maximum": _is_number,
    "minContains": _is_count,
    "minItems": _is_count,
    "minLength": _is_count,
    "minProperties": _is_count,
    "minimum": _is_number,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "pattern": lambda value: isinstance(value, str) and is_pattern(value),
    "readOnly": _is_flag,
    "required": _is_names,
    "title": _is_text,
    "type": _is_type,
    "uniqueItems": _is_flag,
    "writeOnly": _is_flag,
}

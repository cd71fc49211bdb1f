"""Walking a JSON Schema (draft 2020-12) by what its keys are: keywords, names of the API's, or data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_core.air import JsonSchema

NAMED = frozenset({"properties", "patternProperties", "$defs", "dependentRequired", "dependentSchemas"})
DATA = frozenset({"enum", "const", "default", "examples", "example"})


def without(schema: JsonSchema, unwanted: Callable[[str, Any], bool]) -> JsonSchema:
    """The schema without the keywords that ``unwanted(keyword, value)`` picks, at every depth.

    Below a keyword of NAMED the keys are names, of which any may be spelled like a keyword; below one of
    DATA nothing is a schema.
    """
    pruned: JsonSchema = _prune(schema, unwanted)
    return pruned


def _prune(value: Any, unwanted: Callable[[str, Any], bool], *, names: bool = False) -> Any:
    if isinstance(value, list):
        return [_prune(item, unwanted) for item in value]
    if not isinstance(value, dict):
        return value
    if names:
        return {key: _prune(item, unwanted) for key, item in value.items()}
    return {
        key: item if key in DATA else _prune(item, unwanted, names=key in NAMED)
        for key, item in value.items()
        if not unwanted(key, item)
    }

"""The schemas as a client gets them: without what its own validator may stumble over.

A client in JavaScript compiles the output schema when it calls a tool, and refuses the call when a
``pattern`` is no ECMAScript regular expression of the Unicode kind; formats that it does not know fill its
log (measured with a real client on a real document). The executor checks arguments and answers
against the full schemas, so nothing is let through by leaving these out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anvil_core.schemas import without

if TYPE_CHECKING:
    from anvil_core.air import JsonSchema

LONGEST_PATTERN = 500
# The formats of JSON Schema 2020-12, section 7.3 (validation), and the numeric ones of OpenAPI.
KNOWN_FORMATS = frozenset(
    {
        *("date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6"),
        *("iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri"),
        *("uri-reference", "uri-template", "uuid", "int32", "int64", "float", "double", "byte", "password"),
    }
)
# What every dialect reads alike: an atom, a class, a group's bracket, an anchor or a quantifier.
_ESCAPE = r"\\(?:[dDwWsSnrtfv\\/^$.*+?()\[\]{}|]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
_CLASS = rf"\[\^?(?:[^\\\[\]]|{_ESCAPE})+\]"
_GROUP = r"\((?:\?[:=!])?(?!\?)|\)"
_QUANTIFIER = r"[?*+]\??|\{\d+(?:,\d*)?\}\??"
_PORTABLE = re.compile(rf"(?:[^\\\[\](){{}}?*+]|{_ESCAPE}|\\b|{_CLASS}|{_GROUP}|{_QUANTIFIER})*")
_RANGE_OF_CLASSES = re.compile(r"\[[^\]]*(?:\\[dDwWsS]-[^\]]|[^\[^]-\\[dDwWsS])")


def input_schema(schema: JsonSchema) -> JsonSchema:
    """A tool's input schema for a client: patterns only where every dialect reads them alike."""
    return without(schema, lambda key, value: _odd_format(key, value) or _odd_pattern(key, value))


def output_schema(schema: JsonSchema) -> JsonSchema:
    """A tool's output schema for a client: no regular expression and no format."""
    return without(schema, lambda key, _value: key in ("pattern", "patternProperties", "format"))


def _odd_format(key: str, value: Any) -> bool:
    return key == "format" and value not in KNOWN_FORMATS


def _odd_pattern(key: str, value: Any) -> bool:
    if key == "patternProperties":
        return not (isinstance(value, dict) and all(is_portable(pattern) for pattern in value))
    return key == "pattern" and not is_portable(value)


def is_portable(pattern: Any) -> bool:
    """Whether Python, Rust and ECMAScript with its Unicode flag all read the pattern, and alike."""
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        return False
    if not _PORTABLE.fullmatch(pattern) or _RANGE_OF_CLASSES.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True

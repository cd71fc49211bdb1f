"""Parameters with a single possible value: bound by the compiler, never asked of the caller."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anvil_core import request_headers

if TYPE_CHECKING:
    from anvil_generator.sources.parameters import Declared
    from anvil_generator.sources.raw import Raw

_FORMS = {"header": request_headers.VALUE, "cookie": request_headers.COOKIE_VALUE}
_VERSION_HEADER = re.compile(r"(^|.*[-_])version", re.IGNORECASE)


def value(raw: Raw, parameter: Declared) -> str | None:
    """The value on the wire, or None if there is a choice.

    A required parameter with one value is bound. So is a version header that names its value only as
    a default (Notion-Version): the document was written for that version.
    """
    if parameter.value.get("style", "simple") != "simple" and parameter.location == "path":
        return None
    schema, _ = raw.follow(parameter.value.get("schema"), (*parameter.pointer, "schema"))
    if not isinstance(schema, dict):
        return None
    only = _only(schema) if parameter.required else None
    if only is None and parameter.location == "header" and _VERSION_HEADER.fullmatch(parameter.name):
        only = _only(schema) or (schema.get("default") if "enum" not in schema else None)
    written = _written(only)
    form = _FORMS.get(parameter.location)
    fits = written is None or form is None or (bool(written) and form.fullmatch(written) is not None)
    return written if fits else None


def _only(schema: dict[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    values = schema.get("enum")
    return values[0] if isinstance(values, list) and len(values) == 1 else None


def _written(only: Any) -> str | None:
    if isinstance(only, str):
        return only
    return json.dumps(only) if isinstance(only, (bool, int, float)) else None

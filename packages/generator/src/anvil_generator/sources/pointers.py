"""JSON pointers (RFC 6901), as tuples of plain segments inside and as text outside."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

Pointer = tuple[str, ...]
MISSING: Any = object()


def write(pointer: Pointer) -> str:
    """``("paths", "/a")`` -> ``/paths/~1a``."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in pointer)


def parse_fragment(fragment: str) -> Pointer | None:
    """The pointer in a URI fragment without its ``#``; None for a name that is no pointer."""
    if not fragment:
        return ()
    if not fragment.startswith("/"):
        return None
    parts = unquote(fragment).split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def get(root: Any, pointer: Pointer) -> Any:
    """The value at the pointer, or MISSING."""
    value = root
    for part in pointer:
        if isinstance(value, dict):
            value = value.get(part, MISSING)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value

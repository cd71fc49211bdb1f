"""JSON pointers (RFC 6901), as tuples of plain segments inside and as text outside.

A pointer into another file than the first one begins with that file, as a ``File``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

Pointer = tuple[str, ...]
MISSING: Any = object()


class File(str):
    """Another file of the document, by its path from the first one's folder; equal to no plain segment."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:  # str brings one of its own
        return not self == other

    def __hash__(self) -> int:
        return hash((File, str(self)))


def split(pointer: Pointer) -> tuple[File | None, Pointer]:
    """The file, None for the first one, and the pointer in it."""
    if pointer and isinstance(pointer[0], File):
        return pointer[0], pointer[1:]
    return None, pointer


def write(pointer: Pointer) -> str:
    """``("paths", "/a")`` -> ``/paths/~1a``; in another file ``pets.yaml#/paths/~1a``."""
    file, parts = split(pointer)
    written = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    return f"{file}#{written}" if file is not None else written


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
        elif isinstance(value, list) and _is_index(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10

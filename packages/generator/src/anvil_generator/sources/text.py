"""From the bytes of a file to one value and a way to find the line of each part of it.

JSON is read by the C scanner and YAML by libyaml; both keep enough to answer ``line(pointer)`` later,
so that nothing is paid for positions that nobody asks for.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anvil_generator.sources.limits import LONGEST_KEY, MAX_BYTES, MAX_DEPTH, MAX_NODES, TextError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anvil_generator.sources.pointers import Pointer


__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "TextError", "Tree", "decode", "parse", "read_file"]


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed text. ``duplicates`` are the keys written twice in one object: where, and on which line."""

    root: Any
    line: Callable[[Pointer], int]
    duplicates: tuple[tuple[Pointer, int], ...] = field(default=())


def read_file(path: Path, largest: int) -> bytes:
    """The bytes of a regular file, not one more than allowed: a device or a pipe may never end."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise TextError("not_a_file", "cannot be read: it is not a regular file", None)
        with path.open("rb") as file:
            data = b"" if about.st_size > largest else file.read(largest + 1)
    except OSError as error:
        raise TextError("unreadable", f"cannot be read: {error.strerror}", None) from error
    if max(about.st_size, len(data)) > largest:
        raise TextError("document_too_large", f"is larger than {largest} bytes", None)
    return data


def decode(data: bytes) -> str:
    """The text of a UTF-8 file, without its byte order mark."""
    if len(data) > MAX_BYTES:
        raise TextError("document_too_large", f"has more than {MAX_BYTES} bytes", None)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError("not_utf8", f"is not UTF-8: byte {error.start}; save it as UTF-8", line) from error
    if not text.strip():
        raise TextError("document_empty", "is empty", 1)
    return text


def parse(text: str, *, json_only: bool) -> Tree:
    """Read JSON if it looks like JSON, else YAML. ``json_only``: the file's name says that it is JSON."""
    from anvil_generator.sources import json_text, yaml_text  # noqa: PLC0415 - they use this module's types

    _check_marks(text)
    if json_only or text.lstrip()[0] in "{[":
        try:
            tree = json_text.parse(text)
        except TextError:
            if json_only:
                raise
            tree = yaml_text.parse(text)
    else:
        tree = yaml_text.parse(text)
    check_depth(tree)
    return tree


def _check_marks(text: str) -> None:
    """Refuse a text that may hold more than so many values, before anything is made of it.

    Each value but the first needs one of these marks, in JSON and in YAML; prose has few of them.
    """
    marks = sum(map(text.count, ",[{")) if text.lstrip()[0] in "{[" else sum(map(text.count, _YAML_MARKS))
    if marks > MAX_NODES:
        raise TextError("document_too_large", f"has more than {MAX_NODES} values", None)


_YAML_MARKS = ("\n", ",", "[", "{", ": ", "- ", "? ")


def check_depth(tree: Tree) -> None:
    """Refuse what later recursion could not walk, and keys that nothing could show. No recursion here."""
    level: list[Any] = [tree.root] if isinstance(tree.root, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                if node and max(map(len, node)) > LONGEST_KEY:
                    raise TextError("key_too_long", f"has a key of more than {LONGEST_KEY} characters", None)
                below += [child for child in node.values() if isinstance(child, (dict, list))]
            else:
                below += [child for child in node if isinstance(child, (dict, list))]
        if not below:
            return
        if len(below) > MAX_NODES:
            raise TextError("document_too_large", f"has more than {MAX_NODES} values", None)
        level = below
    raise TextError("document_too_deep", f"is nested deeper than {MAX_DEPTH} levels", None)

"""From the bytes of a file to one value and a way to find the line of each part of it.

JSON is read by the C scanner and YAML by libyaml; both keep enough to answer ``line(pointer)`` later,
so that nothing is paid for positions that nobody asks for.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anvil_generator.sources.pointers import Pointer

MAX_BYTES = 64_000_000
MAX_NODES = 5_000_000
MAX_DEPTH = 150


class TextError(Exception):
    """The text cannot be read; ``line`` counts from 1, and the file is what the message speaks of."""

    def __init__(self, code: str, message: str, line: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


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


def check_depth(tree: Tree) -> None:
    """Refuse what later recursion could not walk. Level by level: no recursion here."""
    level = [tree.root] if isinstance(tree.root, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
        if len(level) > MAX_NODES:
            raise TextError("document_too_large", f"has more than {MAX_NODES} nodes", None)
    raise TextError("document_too_deep", f"is nested deeper than {MAX_DEPTH} levels", None)

"""The other files that a document's references lead to: opened once each, and only where they may lie."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from anvil_generator.sources import text
from anvil_generator.sources.pointers import File
from anvil_generator.sources.text import TextError, Tree

if TYPE_CHECKING:
    from pathlib import Path

MOST_FILES = 2_000
_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_REMEDY = "name the folder that it may lead to with refs_within"
_NOWHERE = "leaves the document; put what it names into this document"


@dataclass(slots=True)
class OtherFiles:
    """``first`` is the document, None where it came as bytes alone: then there are no other files.
    ``within`` is the folder that references may lead to, by default the document's own.

    ``trees`` holds what was opened, by its path from the document's folder, with the digest of its
    bytes; a file that cannot be read keeps the reason why.
    """

    first: Path | None = None
    within: Path | None = None
    trees: dict[File, Tree] = field(default_factory=dict)
    digests: dict[File, str] = field(default_factory=dict)
    refused: dict[File, TextError] = field(default_factory=dict)
    bytes_read: int = 0

    def named(self, place: str, here: File | None) -> File | None:
        """The file that a reference in ``here`` names, None for the document itself.

        Raises TextError for one that is on the network, or lies elsewhere than references may lead.
        """
        if self.first is None:
            raise TextError("outside", _NOWHERE, None)
        if _SCHEME.match(place):
            raise TextError("network", "names another host or scheme, and nothing is fetched", None)
        plain = unquote(place)
        if "\\" in plain or "\0" in plain or plain.startswith("/"):
            raise TextError("outside", "is no relative path", None)
        name = posixpath.normpath(posixpath.join(posixpath.dirname(here or ""), plain))
        path = self._path(self.first, name)
        return None if path == self.first.resolve() else File(name)

    def tree(self, file: File) -> Tree:
        """What is in a file. Raises TextError when it cannot be read, the same one each time."""
        if file not in self.trees:
            if file not in self.refused:
                try:
                    self.trees[file] = self._open(file)
                except TextError as error:
                    self.refused[file] = error
            if file in self.refused:
                raise self.refused[file]
        return self.trees[file]

    def line(self, file: File, pointer: tuple[str, ...]) -> int | None:
        if file in self.trees:
            return self.trees[file].line(pointer)
        return self.refused[file].line if file in self.refused else None

    def digest(self, first: str) -> str:
        """The digest of all that was read: the document's own where there is nothing else."""
        if not self.digests:
            return first
        lines = [first, *(f"{digest} {file}" for file, digest in sorted(self.digests.items()))]
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    def _path(self, first: Path, name: str) -> Path:
        """Where it really lies, links followed."""
        try:
            path = (first.parent.resolve() / name).resolve()
            within = (self.within or first.parent).resolve()
        except (OSError, RuntimeError) as error:
            raise TextError("unreadable", "cannot be read", None) from error
        if not path.is_relative_to(within):
            raise TextError("outside", f"leaves the folder {within.name}; {_REMEDY}", None)
        return path

    def _open(self, file: File) -> Tree:
        if len(self.trees) + len(self.refused) >= MOST_FILES:
            raise TextError("too_many_files", f"is one more than the {MOST_FILES} files that are read", None)
        if self.first is None:
            raise TextError("outside", _NOWHERE, None)
        data = text.read_file(self._path(self.first, file), text.MAX_BYTES - self.bytes_read)
        self.bytes_read += len(data)
        tree = text.parse(text.decode(data), json_only=file.lower().endswith(".json"))
        for pointer, line in tree.duplicates:
            if pointer[-1] in _METHODS or pointer[-1].startswith("/"):
                message = f"{pointer[-1]!r} is written twice, and one of them would be lost; merge the two"
                raise TextError("duplicate_path", message, line)
        self.digests[file] = hashlib.sha256(data).hexdigest()
        return tree

"""Answers that are too large to be passed on: written to a file of the state folder as they come.

A file is for its user alone, holds no secret of a credential, and goes after a week, or earlier where the
folder holds more than its share.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anvil_runtime.state import StateError

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_runtime.redaction import Secrets, Stream
    from anvil_runtime.state import StateFolder

FOLDER = "answers"
LARGEST_FILE = 256 * 1024 * 1024
MOST_BYTES = 1024 * 1024 * 1024
KEPT_SECONDS = 7 * 24 * 3600


class NoRoomError(Exception):
    """The file cannot be written to its end: the disk is full, or failed."""


@dataclass(frozen=True)
class Spilled:
    """A file that holds an answer: its path, its bytes, their SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass
class Writer:
    """One file while it is written. ``full``: no more is taken."""

    path: Path
    stream: Stream
    _file: int
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)
    size: int = 0
    full: bool = False

    def feed(self, piece: bytes) -> None:
        self._write(self.stream.feed(piece))
        self.full = self.size >= LARGEST_FILE

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self.size += len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise NoRoomError(str(error)) from None

    def finish(self) -> Spilled:
        self._write(self.stream.end())
        try:
            os.close(self._file)
        except OSError as error:
            raise NoRoomError(str(error)) from None
        return Spilled(str(self.path), self.size, self._hash.hexdigest())

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._file)
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Spill:
    """Where large answers of one service go."""

    folder: StateFolder
    secrets: Secrets

    def start(self) -> Writer | None:
        """A new file, or None where none can be made: the answer is cut then."""
        try:
            folder = self.folder.ready() / FOLDER
            folder.mkdir(mode=0o700, exist_ok=True)
            sweep(folder)
            path = folder / secrets.token_hex(8)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
            return Writer(path, self.secrets.stream(), os.open(path, flags, 0o600))
        except (StateError, OSError):
            return None


def sweep(folder: Path) -> None:
    """Remove what is old, and the oldest while there is too much."""
    found = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            status = path.lstat()
            found.append((status.st_mtime, status.st_size, path))
    room, oldest = MOST_BYTES - LARGEST_FILE, time.time() - KEPT_SECONDS
    for modified, size, path in sorted(found, reverse=True):
        room -= size
        if room < 0 or modified < oldest:
            with contextlib.suppress(OSError):
                path.unlink()

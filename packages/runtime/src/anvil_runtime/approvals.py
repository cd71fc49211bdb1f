"""Records that the hook leaves when it has the harness ask a person: read once, and never twice.

A record says "our guard saw exactly this call", not "a person agreed": it is written before the dialog. Its
file is named by a digest of the harness's own call id, so that no id leads out of the folder. It is renamed
before it is read: of several who want it, one has it (facts: human-approval.md, part 1).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import time
from typing import TYPE_CHECKING, Any

import hookcore  # type: ignore[import-untyped,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

APPROVALS, PENDING = "approvals", "pending"
SECONDS = 30 * 60
"""A record's age includes the time that the person thought."""
AHEAD = 5
"""Seconds by which a record may seem to be from the future: the clock of one machine, set back a little."""
PENDING_SECONDS = 10 * 60
"""How long a held call waits for a person."""
LARGEST = 2**16


class RecordError(Exception):
    """A call whose record does not hold. ``cause``: a key of ``human.CAUSES``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


def burn(folder: Path, call_id: str | None) -> dict[str, Any]:
    """The record of a call, which nobody gets again. Raises RecordError: ``unseen`` or ``unsafe``."""
    if not call_id or not call_id.isascii():
        raise RecordError("unseen")
    name = str(hookcore.sha256(call_id)) + ".json"  # type: ignore[no-untyped-call,unused-ignore]
    try:
        text = take(folder, APPROVALS, name)
    except FileNotFoundError:
        raise RecordError("unseen") from None
    except OSError:
        raise RecordError("unsafe") from None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise RecordError("unsafe") from None
    if not isinstance(record, dict):
        raise RecordError("unsafe")
    return record


def take(folder: Path, kind: str, name: str) -> bytes:
    """A file's bytes, for one caller alone. FileNotFoundError for whoever comes second, or where none is.

    Other OSErrors: it is not a file that the user alone could have written; it is gone all the same.
    """
    taken = f".burnt.{secrets.token_hex(8)}"
    try:
        place = open_folder(folder, kind)
    except OSError:
        raise FileNotFoundError(kind) from None
    try:
        os.rename(name, taken, src_dir_fd=place, dst_dir_fd=place)
        try:
            return read_safely(taken, place)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(taken, dir_fd=place)
    finally:
        os.close(place)


def open_folder(folder: Path, kind: str) -> int:
    """A descriptor of the folder of one kind, which is no link. Raises OSError."""
    return os.open(folder / kind, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def read_safely(name: str, place: int) -> bytes:
    """A file of the user's own, which nobody else may open and which is no link. Raises OSError."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=place)
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        if not is_own(status) or status.st_size > LARGEST:
            raise OSError("not a file that the guard wrote")
        return opened.read(LARGEST)


def is_own(status: os.stat_result) -> bool:
    """Whether it is a plain file of the user's, mode 0600, under one name."""
    return (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == os.getuid()
        and stat.S_IMODE(status.st_mode) == 0o600
        and status.st_nlink == 1
    )


def check(record: Mapping[str, Any], wanted: Mapping[str, Any], now: float | None = None) -> None:
    """Compare a record with the call that arrived, field by field. Raises RecordError.

    ``wanted``: call_id, service, origin, contract_digest, operation, tool, digest, note.
    """
    for field, cause in (
        ("call_id", "unsafe"),
        ("service", "other_contract"),
        ("origin", "other_contract"),
        ("contract_digest", "other_contract"),
        ("operation", "other_contract"),
        ("tool", "changed"),
        ("digest", "changed"),
        ("note", "other_contract"),
    ):
        if not isinstance(record.get(field), str) or record[field] != wanted[field]:
            raise RecordError(cause)
    written = record.get("time")
    if isinstance(written, bool) or not isinstance(written, (int, float)) or not abs(written) < 2**53:
        raise RecordError("unsafe")
    if not -AHEAD <= (time.time() if now is None else now) - written <= SECONDS:
        raise RecordError("stale")


def sweep(folder: Path) -> None:
    """Remove the records and the held calls that are too old for anything; what cannot be is left."""
    for kind, seconds in ((APPROVALS, SECONDS), (PENDING, PENDING_SECONDS)):
        oldest = time.time() - seconds - AHEAD
        with contextlib.suppress(OSError), os.scandir(folder / kind) as found:
            for one in found:
                with contextlib.suppress(OSError):
                    if one.stat(follow_symlinks=False).st_mtime < oldest:
                        (folder / kind / one.name).unlink()

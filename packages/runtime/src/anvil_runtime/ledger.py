"""The idempotency ledger: what was sent under which key, kept on disk for every process of this user.

One row for each key that a mutation was sent under (design section 8). It is reserved before the request
leaves and settled when the answer is there:

- ``answered``: the first answer, given again to whoever makes the same call;
- ``open``: the API answered in a way that says neither yes nor no (a timeout, 5xx, 409). The same call may be
  sent again under its key, which is what a key is for; another one may not;
- ``reserved`` by a process that has ended: nobody knows what became of it, and nothing is sent for it again;
- no row: the request did not leave, or the API refused it, and the key is free. One that was open once is
  never free again, whatever comes of a later call: the first may have been carried out.

What is kept of a request is a digest, and of a credential what ``Credentials.identity`` gives.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import tempfile
import time
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Literal

from anvil_runtime.state import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from anvil_runtime.plan import Plan
    from anvil_runtime.state import StateFolder

FILE_NAME = "ledger.sqlite3"
KEPT_SECONDS = 30 * 24 * 3600
BUSY_SECONDS = 10.0
LARGEST_ANSWER = 256 * 1024
POLL_SECONDS = 0.05
VERSION = 1
_MAKE = """
CREATE TABLE IF NOT EXISTS calls (
    service TEXT NOT NULL, origin TEXT NOT NULL, credential TEXT NOT NULL, operation TEXT NOT NULL,
    key TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL, time REAL NOT NULL,
    answer TEXT, PRIMARY KEY (service, origin, credential, operation, key)
) WITHOUT ROWID
"""
_WHERE = "service = ? AND origin = ? AND credential = ? AND operation = ? AND key = ?"


class LedgerError(Exception):
    """The ledger cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Slot:
    """What a key belongs to: the same key elsewhere, or of somebody else, is another one."""

    service: str
    origin: str
    credential: str
    operation: str
    key: str


@dataclass(frozen=True)
class Found:
    """What the ledger says of a call.

    ``answer`` is the first one's, for ``answered``; ``again``: reserved, and an earlier call was left open.
    """

    state: Literal["reserved", "answered", "conflict", "in_progress", "unknown"]
    answer: dict[str, Any] | None = None
    again: bool = False


@dataclass(frozen=True)
class Ledger:
    """The ledger of one service. ``clock`` gives seconds since 1970; both are given by tests."""

    folder: StateFolder
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def reserve(self, slot: Slot, request: str, wait_seconds: float) -> Found:
        """Take the key for this request, or say why it cannot be taken. Raises LedgerError.

        ``reserved``: it is this call's now, to be sent and settled. While another process sends the same
        request its answer is waited for.
        """
        until = time.monotonic() + wait_seconds
        while True:
            found = self._take(slot, request)
            if found.state != "in_progress" or time.monotonic() >= until:
                return found
            self.sleep(POLL_SECONDS)

    def _take(self, slot: Slot, request: str) -> Found:
        with self._open() as file:
            file.execute("DELETE FROM calls WHERE time < ?", (self.clock() - KEPT_SECONDS,))
            row = file.execute(
                f"SELECT request, state, owner, answer FROM calls WHERE {_WHERE}",  # noqa: S608  # no value is in it
                astuple(slot),
            ).fetchone()
            found = _reading(row, request)
            if found.state == "reserved":
                values = (*astuple(slot), request, "reserved", this_process(), self.clock(), None)
                file.execute(f"REPLACE INTO calls VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608
            return found

    def settle(self, slot: Slot, state: Literal["answered", "open"], answer: dict[str, Any] | None) -> None:
        """Write down what came of a reserved call. Raises LedgerError."""
        text = None if answer is None else _kept(answer)
        with self._open() as file:
            file.execute(
                f"UPDATE calls SET state = ?, answer = ?, time = ? WHERE {_WHERE}",  # noqa: S608
                (state, text, self.clock(), *astuple(slot)),
            )

    def free(self, slot: Slot) -> None:
        """Nothing was ever done under this key: it can be used again. Raises LedgerError."""
        with self._open() as file:
            file.execute(f"DELETE FROM calls WHERE {_WHERE}", astuple(slot))  # noqa: S608

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other process is in at the same time."""
        try:
            path = self.folder.ready() / FILE_NAME
            _make_private(path)
            file = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except StateError as error:
            raise LedgerError(str(error)) from None
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"the ledger {FILE_NAME} cannot be opened: {error}") from None
        try:
            file.execute("BEGIN IMMEDIATE")
            _prepare(file)
            yield file
            file.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise LedgerError(f"the ledger {path} cannot be written: {error}") from None
        except sqlite3.Error as error:
            raise LedgerError(
                f"the ledger {path} is damaged ({error}). It says what was sent already: look at the API, "
                "then move the file away"
            ) from None
        finally:
            file.close()  # which undoes what was not committed


def _make_private(path: Path) -> None:
    """The file, for its user alone, before SQLite would make it for everyone.

    It is never opened here: POSIX drops every lock that this process holds on a file when any of its
    descriptors is closed (https://sqlite.org/howtocorrupt.html, 2.2), so a new one is made beside it.
    """
    if not os.path.lexists(path):
        number, new = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=path.parent)
        os.close(number)
        try:
            with contextlib.suppress(FileExistsError):
                os.link(new, path)
        finally:
            os.unlink(new)  # noqa: PTH108
    status = path.lstat()
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or not mine:
        raise OSError("it is no file that only you can read and write; remove it, or chmod 600")


def _prepare(file: sqlite3.Connection) -> None:
    """Make the table in a new file. Another is not written to: whoever waits for a key looks often."""
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if version not in (0, VERSION):
        raise LedgerError(f"another version of Anvil wrote the ledger {FILE_NAME}: its form is {version}")
    if version == 0:
        file.execute(_MAKE)
        file.execute(f"PRAGMA user_version = {VERSION}")


def _reading(row: tuple[str, str, str, str | None] | None, request: str) -> Found:
    """What a row means for this request; ``reserved`` where it may be sent."""
    if row is None:
        return Found("reserved")
    first_request, state, owner, answer = row
    if first_request != request:
        return Found("conflict")
    if state == "answered":
        return Found("answered", json.loads(answer or "{}"))
    if state == "open":
        return Found("reserved", again=True)
    return Found("in_progress" if is_alive(owner) else "unknown")


def _kept(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=True)
    if len(text) <= LARGEST_ANSWER:
        return text
    note = f"The first answer, of {len(text)} bytes, was too large to be kept. The call was carried out."
    return json.dumps({"raw": None, "violations": [note]})


def request_digest(plan: Plan) -> str:
    """What tells one request from another: method, URL, headers and body, without any credential."""
    head = json.dumps([plan.method, plan.url, sorted(plan.headers)])
    return hashlib.sha256(head.encode() + b"\0" + (plan.body or b"")).hexdigest()


def this_process() -> str:
    """A name that no other process has, also after this one has ended and its number is used again."""
    return f"{os.getpid()}:{_started(os.getpid()) or ''}"


def is_alive(owner: str) -> bool:
    """Whether the process of that name still runs."""
    number, _, started = owner.partition(":")
    if not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and is somebody else's
        return not started
    return (_started(int(number)) or "") == started


def _started(number: int) -> str | None:
    """When it started, in ticks since the machine did (proc(5), field 22), where the system tells."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None

"""The trail: one line for each decision and each call, in the state folder (docs/reference/trail.md).

A hook appends to the same file without a lock, so a line is one write under 4 KB, and rotation renames: who
has the file open meanwhile writes into the renamed one, and nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import hookcore  # type: ignore[import-untyped,unused-ignore]
from anvil_runtime.client import NotSentError
from anvil_runtime.refusals import FAILURES
from anvil_runtime.state import StateError, StateFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anvil_core.air import Origin
    from anvil_runtime.caller import Caller
    from anvil_runtime.client import Answer
    from anvil_runtime.plan import Plan
    from anvil_runtime.redaction import Secrets
    from anvil_runtime.refusals import Refusal

FILE = "trail.jsonl"
LARGEST_LINE = 4_096
LARGEST_FILE = 4 * 1024 * 1024
KEPT = 4
LONGEST_NAME = 128
SOURCES = {"mcp": "server", "command line": "command line", "person": "person"}


class UnrecordedError(NotSentError):
    """The request did not leave, because the trail cannot say that it would."""


@dataclass
class Record:
    """What the trail says of one call, while it goes on. ``status``: of the last answer that came.

    ``known``: secrets, which no line may hold. ``must``: a mutation is sent only when its line is written;
    ``unrecorded``: why it was not.
    """

    folder: StateFolder
    tool: str
    source: str
    call_id: str | None
    digest: str | None
    known: Secrets
    mutation: bool
    must: bool = True
    trace_id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: float = field(default_factory=time.monotonic)
    status: int | None = None
    announced: bool = False
    unrecorded: str | None = None

    def sending(self, send: Callable[[Plan, Origin], Answer]) -> Callable[[Plan, Origin], Answer]:
        """The same ``send``, which lets nothing of a mutation leave before the trail says so."""

        def recorded(plan: Plan, origin: Origin) -> Answer:
            self.announce()
            self.status = None
            answer = send(plan, origin)
            self.status = answer.status
            return answer

        return recorded

    def announce(self) -> None:
        """Write that a mutation is about to be sent, once. Raises UnrecordedError where it must."""
        if not self.mutation or self.announced:
            return
        self.unrecorded = self.write("sending", None)
        if self.unrecorded is None or not self.must:
            self.announced = True
            return
        raise UnrecordedError(self.unrecorded)

    def close(self, refusal: Refusal | None, envelope: Mapping[str, Any]) -> None:
        """Write what came of the call."""
        self.tell(self.write(*verdict(refusal, envelope)))

    def abandon(self) -> None:
        """Write that the call was given up, by its caller or with the process."""
        self.tell(self.write("failed", "outcome_unknown" if self.announced else None))

    def asking(self) -> None:
        """Write that a person is asked; the call comes again with the answer."""
        self.tell(self.write("ask", "confirmation_required"))

    def write(self, verb: str, code: str | None) -> str | None:
        """Append a line. Returns why it could not be, or None."""
        line = {
            "time": now(),
            "source": self.source,
            "trace_id": self.trace_id,
            "call_id": self.call_id,
            "tool": self.tool,
            "verb": verb,
            "code": code,
            "digest": self.digest,
            "status": self.status,
            "ms": round((time.monotonic() - self.began) * 1000),
        }
        try:
            append(self.folder.ready(), self.known.clean(line))
        except (StateError, OSError) as error:
            return str(error)
        return None

    def tell(self, problem: str | None) -> None:
        if problem and problem != self.unrecorded:  # else the caller has read it
            print(f"anvil: the trail has no line of {self.tool}: {problem}", file=sys.stderr, flush=True)


def begin(
    folder: StateFolder,
    tool: str,
    args: object,
    caller: Caller,
    known: Secrets,
    *,
    mutation: bool,
    must: bool,
) -> Record:
    """The record of a call that has just come in."""
    call_id = caller.call_id[:LONGEST_NAME] if caller.call_id else None
    source = SOURCES[caller.channel]
    return Record(folder, tool[:LONGEST_NAME], source, call_id, digest(tool, args), known, mutation, must)


def digest(tool: str, args: object) -> str | None:
    try:
        return str(hookcore.digest(tool, args))
    except (ValueError, RecursionError):  # not canonical, or nested too deeply to be read
        return None


def verdict(refusal: Refusal | None, envelope: Mapping[str, Any]) -> tuple[str, str | None]:
    """(verb, code) of a call's outcome."""
    if refusal is not None:
        return ("failed" if refusal.code in FAILURES else "refused"), refusal.code
    if envelope.get("sends") is False:
        return "planned", None
    return ("replayed" if envelope.get("replayed") else "sent"), None


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def append(folder: Path, line: Mapping[str, Any]) -> None:
    """Add one line to the trail of a state folder. Raises OSError, also for what is no plain file."""
    text = hookcore.dumps(dict(line)) + "\n"
    path = folder / FILE
    if len(text) > LARGEST_LINE:
        raise OSError(f"a line of {path} would have {len(text)} bytes.")
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a file. Remove it.")
        if status.st_size >= LARGEST_FILE:
            rotate(folder)
    try:
        hookcore.put(str(path), text, append=True)
    except OSError as error:
        raise OSError(f"{path}: {error.strerror or error}") from None


def rotate(folder: Path) -> None:
    """Rename the file and the older ones; whoever comes second, or cannot, leaves it to the next line."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl  # noqa: PLC0415  # not on every system

        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (folder / FILE).lstat().st_size >= LARGEST_FILE:  # nobody was first
                names = files(folder)
                for younger, older in zip(reversed(names[:-1]), reversed(names[1:]), strict=True):
                    with contextlib.suppress(FileNotFoundError):
                        younger.replace(older)
        finally:
            os.close(held)


def files(folder: Path) -> list[Path]:
    """The trail's files, the newest first, there or not."""
    return [folder / FILE, *(folder / f"trail.{number}.jsonl" for number in range(1, KEPT + 1))]

"""The trail as a person reads it: one entry a call, what the hook said beside what came of it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, BinaryIO

from anvil_runtime.trail import files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Line = dict[str, Any]
TEXTS = ("time", "source", "tool", "verb")
START = b'{"call_id":'
"""How each line starts: its keys are sorted."""
HEADINGS = ("time", "tool", "hook", "call", "code", "status", "ms", "trace")
NO_OUTCOME = "sending?"
"""A mutation was about to be sent, and nothing says what came of it."""
AGO = re.compile(r"(\d{1,9})([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass
class Entry:
    """One call: the lines of hooks, and those of the server or the command line."""

    hooks: list[Line] = field(default_factory=list)
    calls: list[Line] = field(default_factory=list)

    @property
    def first(self) -> Line:
        return min(self.hooks + self.calls, key=lambda line: str(line["time"]))

    @property
    def last(self) -> Line:
        """What came of it: the last line of the call, else of the hook."""
        return max(self.calls or self.hooks, key=lambda line: str(line["time"]))

    def told(self) -> dict[str, Any]:
        last = self.last
        return {
            "time": self.first["time"],
            "tool": self.first["tool"],
            "source": last["source"],
            "hook": self.hooks[-1]["verb"] if self.hooks else None,
            "verb": last["verb"] if self.calls else None,
            "code": last.get("code"),
            "status": last.get("status"),
            "ms": last.get("ms"),
            "call_id": last.get("call_id"),
            "trace_id": last.get("trace_id"),
            "digest": last.get("digest"),
            "lines": self.hooks + self.calls,
        }


def read(folder: Path) -> tuple[list[Line], int]:
    """(lines in the order in which they were written, how many could not be read). Raises OSError.

    The newest file is opened first: a rotation meanwhile shows a file twice, and hides none.
    """
    opened: dict[tuple[int, int], bytes] = {}
    for path in files(folder):
        with contextlib.suppress(FileNotFoundError), open_plain(path) as file:
            status = os.fstat(file.fileno())
            opened.setdefault((status.st_dev, status.st_ino), file.read())
    found: list[Line] = []
    unreadable = 0
    for data in reversed(opened.values()):
        for raw in data.splitlines():
            torn, line = parse(raw)
            unreadable += torn
            found += [line] if line else []
    return found, unreadable


def open_plain(path: Path) -> BinaryIO:
    """A file that is no link, pipe or device, to read. Raises OSError that names it."""
    place = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise OSError(errno.EINVAL, "Not a plain file. Remove it", str(path))
    return os.fdopen(place, "rb")


def parse(raw: bytes) -> tuple[bool, Line | None]:
    """(whether something in it is no line, the line): after the start of one that was cut short, the next."""
    start = max(raw.rfind(START), 0)
    try:
        line = json.loads(raw[start:])
    except (ValueError, RecursionError):
        return True, None
    if not isinstance(line, dict) or not all(isinstance(line.get(key), str) for key in TEXTS):
        return True, None
    return start > 0, line


def joined(lines: Iterable[Line]) -> list[Entry]:
    """The lines as calls, in the order of time: by trace id, and a hook's by the id that the harness gave."""
    entries: list[Entry] = []
    by_trace: dict[str, Entry] = {}
    by_call: dict[str, Entry] = {}
    for line in sorted(lines, key=lambda line: str(line["time"])):
        of_hook = line["source"].startswith("hook")
        trace, call = str(line.get("trace_id") or ""), str(line.get("call_id") or "")
        entry = (by_trace.get(trace) if trace else None) or (by_call.get(call) if call else None)
        if entry is None or (not of_hook and entry.calls and trace not in by_trace):
            entry = Entry()  # the same id in two calls: each is told by itself
            entries.append(entry)
        (entry.hooks if of_hook else entry.calls).append(line)
        if trace and not of_hook:
            by_trace[trace] = entry
        if call:
            by_call[call] = entry
    return entries


def since(text: str) -> str:
    """A time in the form of the lines, of ``30m``, ``2h``, ``7d`` ago or a date. Raises ValueError."""
    ago = AGO.fullmatch(text)
    try:
        if ago:
            seconds = int(ago.group(1)) * SECONDS[ago.group(2)]
            moment = datetime.now(timezone.utc) - timedelta(seconds=seconds)
        else:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no time: write 30m, 2h, 7d or 2026-12-01T08:30") from None
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wanted(entries: list[Entry], start: str | None, tool: str | None) -> list[Entry]:
    return [
        entry
        for entry in entries
        if (start is None or entry.last["time"] >= start) and (tool is None or entry.first["tool"] == tool)
    ]


def table(entries: list[Entry]) -> list[str]:
    """The entries as aligned lines with headings; control characters of names are escaped."""
    rows = [HEADINGS, *(row(entry.told()) for entry in entries)]
    widths = [max(len(one[column]) for one in rows) for column in range(len(HEADINGS))]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(one, widths, strict=True)).rstrip()
            for one in rows]  # fmt: skip


def row(told: dict[str, Any]) -> tuple[str, ...]:
    verb = NO_OUTCOME if told["verb"] == "sending" else told["verb"]
    texts = (told["time"], told["tool"], told["hook"], verb, told["code"], told["status"], told["ms"])
    return tuple(plain("-" if text is None else str(text)) for text in (*texts, told["trace_id"]))


def plain(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

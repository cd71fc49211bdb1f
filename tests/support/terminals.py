"""A real pseudo-terminal and a program in it, driven as a person would, or a program that plays one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CODE = re.compile(r"type ([A-Z]{4}) and press Enter")
SECONDS = 30


class Terminal:
    """A program whose terminal this is: ``shown`` so far, ``type`` into it, ``code`` is its exit code."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], cwd: Path | None = None) -> None:
        self.shown = ""
        self._ours, its = pty.openpty()

        def take_it() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            list(command),
            stdin=its,
            stdout=its,
            stderr=its,
            env=dict(environ),
            cwd=cwd,
            preexec_fn=take_it,  # noqa: PLW1509  # what it runs there takes no lock
        )
        os.close(its)

    def read_until(self, pattern: re.Pattern[str]) -> str:
        """The first group of what it shows, or "" when the program ended without it."""
        end = time.monotonic() + SECONDS
        while not (found := pattern.search(self.shown)):
            if time.monotonic() > end:
                raise TimeoutError(self.shown)
            if not self._read(0.2):
                return ""
        return found.group(1)

    def _read(self, seconds: float) -> bool:
        """Whether more may come."""
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # nobody has the other end
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def is_running(self, seconds: float) -> bool:
        """Whether it still runs when it has had this time to end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            self._read(0.1)
        return self.process.poll() is None

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    @property
    def code(self) -> int:
        """How it ended; it is waited for."""
        end = time.monotonic() + SECONDS
        while self._read(0.2) and time.monotonic() < end:
            pass
        return self.process.wait(SECONDS)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(SECONDS)
        os.close(self._ours)

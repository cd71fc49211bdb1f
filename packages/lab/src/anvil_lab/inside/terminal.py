"""A program in a terminal, under tmux: keys in, screens out."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_TARGET = "lab"
_NUMBERS = itertools.count()


class TerminalError(Exception):
    """The screen did not come to show what was waited for."""


class NotReadyError(TerminalError):
    """The program did not come to take a prompt: nothing was asked of it yet."""


class Terminal:
    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        size: tuple[int, int] = (120, 45),
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        if shutil.which("tmux") is None:
            raise TerminalError("the image has no tmux: attended runs need the local base")
        self.command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
        self.folder = folder
        self.size = size
        self.alive = alive
        self.screens: list[str] = []
        self.socket = f"lab-{next(_NUMBERS)}"

    def __enter__(self) -> Self:
        width, height = (str(number) for number in self.size)
        line = f"{shlex.join(self.command)}; echo EXIT=$?; sleep 600"
        start = ["new-session", "-d", "-x", width, "-y", height, "-s", _TARGET]
        self._tmux(*start, "-c", str(self.folder), line)
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", _TARGET)

    def keys(self, *names: str) -> None:
        """Send keys by tmux's names (`Enter`, `Escape`, `Down`)."""
        self._tmux("send-keys", "-t", _TARGET, *names)

    def write(self, words: str) -> None:
        self._tmux("send-keys", "-t", _TARGET, "-l", words)

    def wait(self, pattern: str, seconds: float = 20, meanwhile: Callable[[], None] | None = None) -> str:
        """The screen, once it shows the pattern; it is kept among `screens`. `meanwhile` is done on the way.

        Raises TerminalError.
        """
        until = time.monotonic() + seconds
        while True:
            shown = self.screen()
            if re.search(pattern, shown):
                self.screens.append(shown)
                return shown
            if time.monotonic() > until or re.search(r"^EXIT=\d+", shown, re.MULTILINE):
                self.screens.append(shown)
                raise TerminalError(f"the screen did not show {pattern!r} within {seconds:g} s")
            if meanwhile:
                meanwhile()
            time.sleep(0.1)

    def gone(self, shown: str | None, part: Callable[[str], str | None], seconds: float = 10) -> None:
        """Wait until a part of the screen has gone, or another stands in its place."""
        until = time.monotonic() + seconds
        while part(self.screen()) == shown and time.monotonic() < until:
            time.sleep(0.1)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout

"""JSON-RPC with a process over its standard input and output, one message a line, with a time limit."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from anvil_shims.installing.actions import ActionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType


class Peer:
    """The process; ends with the ``with`` block."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], cwd: Path, patience: float = 60
    ) -> None:
        self.name = command[0]
        self.patience = patience
        try:
            self.process = subprocess.Popen(
                list(command),
                env=dict(environ),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise ActionError("command_failed", f"did not start: {error.strerror}", self.name) from None
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.last_words: deque[str] = deque(maxlen=5)
        self.asked = 0
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._listen)]
        for reader in self.readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.process.stdin:
                self.process.stdin.close()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def tell(self, method: str, **fields: Any) -> None:
        """A notification, or with an id a request."""
        line = json.dumps({"jsonrpc": "2.0", "method": method, **fields})
        try:
            if self.process.stdin:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
        except OSError:
            raise self._ended(method) from None

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request; raises ActionError where none comes."""
        self.asked += 1
        self.tell(method, id=self.asked, params=params)
        until = time.monotonic() + self.patience
        while (left := until - time.monotonic()) > 0:
            try:
                message = self.messages.get(timeout=left)
            except queue.Empty:
                break
            if message is None:
                raise self._ended(method)
            if message.get("id") == self.asked and "method" not in message:
                if isinstance(message.get("result"), dict):
                    return dict(message["result"])
                raise ActionError("no_answer", f"refused {method}: {message.get('error')}", self.name)
        raise ActionError("no_answer", f"did not answer {method} within {self.patience:.0f} s", self.name)

    def _read(self) -> None:
        for line in self.process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self.messages.put(message)
        self.messages.put(None)

    def _listen(self) -> None:
        self.last_words.extend(line.strip() for line in self.process.stderr or ())

    def _ended(self, method: str) -> ActionError:
        self.readers[1].join(2)
        said = " ".join(self.last_words)
        return ActionError("no_answer", f"ended instead of answering {method}: {said}", self.name)

"""Keep what was read as a secret out of everything that is said or written.

A secret is known here from the moment it is read. It is replaced in its plain form and in those in which
an API, a log or an error may give it back: JSON, URL and HTML escapes, and base64, also inside a longer
text that was encoded whole.
"""

from __future__ import annotations

import base64
import html
import json
import sys
import traceback
from dataclasses import dataclass, field, fields, is_dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

Value = TypeVar("Value")
SHORTEST = 6
"""Characters of a secret: a shorter one cannot be told from other text, and is never used."""
MARK = "[redacted]"
ESCAPES = ("\\u{:04x}", "\\u{:04X}")
_CORE = 8
"""Characters of base64 that are no accident: shorter pieces are left as they are."""


@dataclass
class Secrets:
    """The secrets of one process, and what is done to keep them in it. Safe for threads."""

    _forms: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, *values: str) -> None:
        """Know these from now on; what is too short to be told from other text is left out."""
        new = {form for value in values if len(value) >= SHORTEST for form in spellings(value)}
        with self._lock:
            known = {form for form, _ in self._forms}
            if not new <= known:
                ordered = sorted(new | known, key=lambda form: (-len(form), form))
                self._forms = tuple((form, form.encode("utf-8", "surrogatepass")) for form in ordered)

    @property
    def longest(self) -> int:
        """Bytes of the longest spelling: as much of a stream must be held back to see it whole."""
        return len(self._forms[0][1]) if self._forms else 0

    def clean_text(self, text: str) -> str:
        for form, _ in self._forms:
            if form in text:
                text = text.replace(form, MARK)
        return text

    def clean_bytes(self, data: bytes) -> bytes:
        for _, form in self._forms:
            if form in data:
                data = data.replace(form, MARK.encode())
        return data

    def clean(self, value: Value) -> Value:
        """The same value without a secret: text, bytes, lists, objects with their keys, dataclasses."""
        cleaned: Any = self._cleaned(value) if self._forms else value
        return cleaned  # type: ignore[no-any-return]

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, bytes):
            return self.clean_bytes(value)
        if isinstance(value, dict):
            return {self._cleaned(key): self._cleaned(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)([self._cleaned(item) for item in value])
        if is_dataclass(value) and not isinstance(value, type):
            return replace(
                value, **{one.name: self._cleaned(getattr(value, one.name)) for one in fields(value)}
            )
        return value

    def stream(self) -> Stream:
        """For bytes that come in pieces, and are written as they come."""
        return Stream(self)

    def print_error(self, error: BaseException) -> None:
        """An exception that was caught before, the same way."""
        text = "".join(traceback.format_exception(error))
        print(self.clean_text(text), end="", file=sys.stderr, flush=True)

    def print_traceback(self, file: TextIO | None = None) -> None:
        """The exception that is being handled, on the log, without a secret."""
        print(self.clean_text(traceback.format_exc()), end="", file=file or sys.stderr, flush=True)


@dataclass
class Stream:
    """Cleans bytes in pieces: a secret that is cut between two of them is seen all the same."""

    secrets: Secrets
    _held: bytes = field(default=b"", repr=False)

    def feed(self, piece: bytes) -> bytes:
        """What may be written by now."""
        data = self.secrets.clean_bytes(self._held + piece)
        ready = data[: max(len(data) - max(self.secrets.longest - 1, 0), 0)]
        self._held = data[len(ready) :]
        return ready

    def end(self) -> bytes:
        data, self._held = self.secrets.clean_bytes(self._held), b""
        return data


@dataclass
class CleanLog:
    """Standard error without secrets, for what prints there by itself: libraries and the interpreter."""

    log: TextIO
    secrets: Secrets

    def write(self, text: str) -> int:
        self.log.write(self.secrets.clean_text(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)


def spellings(secret: str) -> set[str]:
    """The secret in every form in which it may come back."""
    found = {secret, repr(secret)[1:-1], html.escape(secret)}
    found |= {html.escape(secret).replace("&#x27;", form) for form in ("&#39;", "&#039;", "&apos;", "'")}
    found |= {form.replace("&quot;", "&#34;") for form in found}
    for text in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        found |= {text, text.replace("/", "\\/"), json.dumps(text)[1:-1]}
        for slashed in (text, text.replace("/", "\\/")):
            found |= {_escaped(slashed, letters, form) for letters in ("&<>", "&<>'") for form in ESCAPES}
    for text in (quote(secret), quote(secret, safe=""), quote_plus(secret), quote(secret, safe="!'()*")):
        found |= {text, _lower_escapes(text)}
    found |= set(_in_base64(secret.encode("utf-8", "surrogatepass")))
    return {form for form in found if len(form) >= SHORTEST}


def _escaped(text: str, letters: str, form: str) -> str:
    """JSON as other languages write it, which escape what HTML could take for its own."""
    return "".join(form.format(ord(letter)) if letter in letters else letter for letter in text)


def _lower_escapes(text: str) -> str:
    parts = text.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _in_base64(data: bytes) -> Iterator[str]:
    """What of the secret stands in the base64 of any text around it: three alignments, two alphabets."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode("ascii").rstrip("=")
        first = -(-before * 8 // 6)  # characters that also hold bits of what stands before
        whole = (before + len(data)) * 8 // 6  # characters that hold no bit of what follows
        core = text[first:whole]
        if len(core) >= _CORE:
            yield core
            yield core.replace("+", "-").replace("/", "_")

"""Calls that wait for a person: left by a hook or the server where nobody could be asked (design, section 8).

Each is a file ``pending/ID.json`` of the state folder, for its user alone, good for ten minutes and once.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anvil_runtime.approvals import LARGEST, PENDING, is_own

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 600
_ID = re.compile(r"[0-9a-f]{8}")


class HeldError(Exception):
    """The call cannot be run; the text says why and what to do."""


@dataclass(frozen=True)
class Held:
    """One call that waits. ``text``: the bytes of its file, for the look before it is used up.

    ``data``: id, bundle, service, origin, contract_digest, operation, tool, arguments, time.
    """

    data: dict[str, Any]
    text: bytes

    def age(self, now: float) -> float:
        return now - float(self.data["time"])


def all_of(folder: Path) -> list[Held]:
    """Every call that can still be run, the oldest first; what is too old is removed."""
    found = []
    with contextlib.suppress(OSError):
        for path in sorted((folder / PENDING).iterdir()):
            with contextlib.suppress(HeldError):
                found.append(read(folder, path.name.removesuffix(".json")))
    return sorted(found, key=lambda held: float(held.data["time"]))


def read(folder: Path, name: str) -> Held:
    """One call, left where it is. Raises HeldError, also for one that is too old, which is removed."""
    if not _ID.fullmatch(name):
        raise HeldError(f"{name!r} is no id of a call: it has 8 digits and letters from a to f.")
    try:
        with _place(folder) as place:
            text = _read(f"{name}.json", place)
    except FileNotFoundError:
        raise HeldError(f"no call {name} waits: it was run, is too old, or is of another service.") from None
    except OSError as error:
        raise HeldError(f"the call {name} cannot be read: {error}. Nothing was sent.") from None
    held = Held(_checked(text, name), text)
    if not -5 <= held.age(time.time()) <= SECONDS:
        with contextlib.suppress(OSError):
            (folder / PENDING / f"{name}.json").unlink()
        raise HeldError(f"the call {name} is more than ten minutes old: have it made again.")
    return held


def use_up(folder: Path, held: Held) -> None:
    """Take the call away, so that nobody has it again. Raises HeldError where it is gone or has changed."""
    name, taken = str(held.data["id"]), f".taken.{secrets.token_hex(8)}"
    try:
        with _place(folder) as place:
            os.rename(f"{name}.json", taken, src_dir_fd=place, dst_dir_fd=place)
            try:
                text = _read(taken, place)
            finally:
                os.unlink(taken, dir_fd=place)
    except OSError:
        raise HeldError(
            f"the call {name} was run meanwhile, or taken away. Nothing was sent by this."
        ) from None
    if text != held.text:
        raise HeldError(f"the call {name} was changed while you looked at it. Nothing was sent.")


@contextlib.contextmanager
def _place(folder: Path) -> Iterator[int]:
    place = os.open(folder / PENDING, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield place
    finally:
        os.close(place)


def _read(name: str, place: int) -> bytes:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=place)
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(file)
        if not is_own(status) or status.st_size > LARGEST:
            raise OSError("it is no file that Anvil wrote for you alone")
        return opened.read(LARGEST)


def _checked(text: bytes, name: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    texts = ("id", "bundle", "service", "origin", "contract_digest", "operation", "tool")
    good = (
        isinstance(data, dict)
        and all(isinstance(data.get(one), str) for one in texts)
        and data["id"] == name
        and isinstance(data.get("arguments"), dict)
        and isinstance(data.get("time"), (int, float))
        and not isinstance(data["time"], bool)
    )
    if not good:
        raise HeldError(f"the call {name} is not of the form that Anvil writes. Nothing was sent.")
    return dict(data)

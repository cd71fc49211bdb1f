"""Calls that are held for a person to run: the files that hook and server leave in ``pending/``.

``hookcore.hold`` writes them. One is good for ten minutes, under the contract that it was held under, and
once: it is renamed before it is sent, so that of several who want it, one has it. Design, section 8.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_runtime import approvals
from anvil_runtime.approvals import AHEAD, PENDING, PENDING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ID = re.compile(r"[0-9a-f]{8}", re.ASCII)
ABOUT = ("service", "origin", "contract_digest", "operation", "tool")
AGAIN = "Have the call made again."


class HeldError(Exception):
    """A held call that cannot be run; the text says why, and what to do."""


class NotHeldError(HeldError):
    """There is no such call."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no call {name!r} waits here: it was run, is of another service, or is more than "
            f"{PENDING_SECONDS // 60} minutes old. {AGAIN}"
        )


@dataclass(frozen=True)
class Held:
    """One held call. ``about``: what it says of the contract; ``time``: when it was held, seconds since 1970.

    ``bundle``: the folder of the bundle that it was made of, as the file says; ``content``: the file's bytes,
    to see whether it is still the same.
    """

    id: str
    bundle: Path
    about: Mapping[str, str]
    arguments: dict[str, Any]
    time: float
    content: bytes

    @property
    def age(self) -> float:
        """In seconds."""
        return time.time() - self.time

    @property
    def is_old(self) -> bool:
        return not -AHEAD <= self.age <= PENDING_SECONDS


def find(folder: Path, name: str, about: Mapping[str, str] | None = None) -> Held:
    """A held call that can still be run; one that is too old is removed. Raises HeldError.

    ``about``: what it must say of the contract, its operation and tool aside.
    """
    path = folder / PENDING / f"{name}.json"
    if not ID.fullmatch(name):
        raise NotHeldError(name)
    try:
        place = approvals.open_folder(folder, PENDING)
    except OSError:
        raise NotHeldError(name) from None
    try:
        held = parsed(approvals.read_safely(path.name, place), name)
    except FileNotFoundError:
        raise NotHeldError(name) from None
    except (OSError, ValueError):
        message = f"{path} is not a file that Anvil left for you alone. Remove it. {AGAIN}"
        raise HeldError(message) from None
    finally:
        os.close(place)
    if held.is_old:
        path.unlink(missing_ok=True)
        raise NotHeldError(name)
    if about and any(held.about[key] != wanted for key, wanted in about.items()):
        raise HeldError(f"call {name} was held under another contract than this bundle's. {AGAIN}")
    return held


def bundle_of(folders: Iterable[Path], name: str) -> Path:
    """The bundle that the call was made of, as the first file of this name says. Raises HeldError."""
    for folder in folders:
        with contextlib.suppress(NotHeldError):
            return find(folder, name).bundle
    raise NotHeldError(name)


def burn(folder: Path, held: Held) -> None:
    """Take the call, so that nobody runs it again; it must be as it was shown. Raises HeldError."""
    try:
        content = approvals.take(folder, PENDING, f"{held.id}.json")
    except FileNotFoundError:
        raise NotHeldError(held.id) from None
    except OSError:
        content = b""
    if content != held.content:
        raise HeldError(f"call {held.id} was changed while it was shown. {AGAIN}")
    if held.is_old:
        raise NotHeldError(held.id)


def all_held(folder: Path) -> list[Held]:
    """Those that can still be run, the oldest first. The too old are removed; what is none is left out."""
    try:
        names = [path.stem for path in (folder / PENDING).iterdir() if path.suffix == ".json"]
    except OSError:
        return []
    found = []
    for name in names:
        with contextlib.suppress(HeldError):
            found.append(find(folder, name))
    return sorted(found, key=lambda held: (held.time, held.id))


def parsed(content: bytes, name: str) -> Held:
    """What a file says. Raises ValueError for what ``hookcore.hold`` does not write."""
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    form = {**dict.fromkeys((*ABOUT, "bundle"), (str,)), "arguments": (dict,), "time": (int, float)}
    if not isinstance(data, dict) or data.get("id") != name:
        raise ValueError("not this held call")
    if not all(type(data.get(key)) in types for key, types in form.items()):
        raise ValueError("not a held call")
    if "\0" in data["bundle"] or not data["bundle"].isprintable() or not abs(data["time"]) < 2**53:
        raise ValueError("not a held call")
    about = {key: data[key] for key in ABOUT}
    return Held(name, Path(data["bundle"]), about, data["arguments"], float(data["time"]), content)

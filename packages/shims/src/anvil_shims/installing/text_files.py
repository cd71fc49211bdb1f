"""Reading and writing a user's configuration file so that nothing of it is lost.

A byte order mark, line ends, the file's mode and a symlink stay; a write is whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from anvil_shims.installing.actions import ActionError

MARK = "\ufeff"


def read(path: Path) -> str | None:
    """The text with its byte order mark and line ends as they are; None when there is no file."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        if path.is_symlink():
            message = f"is a symlink to {path.readlink()}, which is not there; mend or remove it"
            raise ActionError("config_unreadable", message, str(path)) from None
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        message = "is not UTF-8, and was left as it is; save it as UTF-8 and try again"
        raise ActionError("config_unreadable", message, str(path), line) from None
    except OSError as error:
        message = f"cannot be read: {error.strerror}; nothing was changed"
        raise ActionError("config_unreadable", message, str(path)) from None


def write(path: Path, text: str) -> None:
    """Put the text where the path leads, through symlinks, with the mode of what was there."""
    target = Path(os.path.realpath(path))
    kept = mode(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(temporary).chmod(0o600 if kept is None else kept)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def newline(text: str) -> str:
    """The line end that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def mode(path: Path) -> int | None:
    """The mode of the file that the path leads to; None when there is none."""
    return path.stat().st_mode & 0o7777 if path.exists() else None


def set_mode(path: Path, wanted: int | None) -> None:
    if wanted is not None and mode(path) not in (None, wanted):
        path.chmod(wanted)

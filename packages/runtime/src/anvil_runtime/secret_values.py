"""Read one part of a credential, when a call needs it, from where the manifest says."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_runtime.client import NotSentError
from anvil_runtime.redaction import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_core.air import SecretSource

LARGEST_FILE = 16 * 1024


class CredentialError(NotSentError):
    """A credential is missing or cannot be used, so nothing was sent.

    The text says which variable or file, what is wrong with it and what to do, never its value; it has no
    stop at its end.
    """


def read(source: SecretSource, environ: Mapping[str, str]) -> str | None:
    """The value, or None where there is none yet. Raises CredentialError for one that cannot be used."""
    value = environ.get(source.env) if source.env is not None else _read_file(str(source.file))
    if not value:
        return None
    if any(ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 for one in value):
        raise CredentialError(f"{source} holds a line break or another control character. Mend it")
    return value


def check_length(source: SecretSource, value: str) -> None:
    """Raises CredentialError for a secret that could not be kept out of what is said."""
    if len(value) < SHORTEST:
        raise CredentialError(f"{source} is shorter than {SHORTEST} characters, so it cannot be kept secret")


def _read_file(name: str) -> str | None:
    path = _home() / name[2:] if name.startswith("~/") else Path(name)
    try:
        # Not through a link, and not waiting for a pipe's other end.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        why = "is a link" if error.errno == errno.ELOOP else str(error.strerror).lower()
        raise CredentialError(f"the file {name} cannot be read: {why}") from None
    try:
        wrong = _what_is_wrong(os.fstat(file), path)
        data = b"" if wrong else os.read(file, LARGEST_FILE + 1)
    finally:
        os.close(file)
    if len(data) > LARGEST_FILE:
        wrong = "is too large to hold one credential"
    if wrong:
        raise CredentialError(f"the file {name} {wrong}")
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise CredentialError(f"the file {name} is not text in UTF-8") from None


def _what_is_wrong(status: os.stat_result, path: Path) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid != os.getuid():
        return "is not owned by you"
    if status.st_mode & 0o077:
        return "can be read or changed by others: chmod 600"
    if _is_inside_working_folder(path):
        return "is inside the working folder, where a project could change it"
    return None


def _is_inside_working_folder(path: Path) -> bool:
    """Compared by identity, whatever links lead there. The root itself is nobody's project."""
    here = Path.cwd()
    return any(folder.samefile(here) for folder in list(path.resolve().parents)[:-1])


def _home() -> Path:
    """The home that the system has for this user: a repository's settings can set HOME."""
    try:
        import pwd  # noqa: PLC0415  # not on every system

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return Path.home()

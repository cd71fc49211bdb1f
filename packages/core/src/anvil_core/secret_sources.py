"""Where the parts of a credential are read: variables of the environment and files, never values.

A harness may pass every variable that a bundle names on to its server, so a name that steers a program
is refused, whoever wrote it down.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Part = Literal["value", "username", "password", "client_id", "client_secret"]

LONGEST_VARIABLE = 100
LONGEST_FILE = 400
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_STEERS = frozenset(
    {
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "PWD",
            "OLDPWD",
            "TERM",
            "LANG",
            "LANGUAGE",
            "IFS",
            "ENV",
        ),
        *("TMPDIR", "TEMP", "TMP", "TZ", "CDPATH", "SHELLOPTS", "BASHOPTS", "NODE_OPTIONS", "USERPROFILE"),
        *("SYSTEMROOT", "COMSPEC", "PATHEXT", "ANVIL_BASE_URL"),
    }
)
_STEERS_BEGINNING = (
    "LD_",
    "DYLD_",
    "PYTHON",
    "LC_",
    "BASH_",
    "XDG_",
    "SSL_",
    "OPENSSL_",
    "MALLOC_",
    "GLIBC_",
)
_STEERS_ENDING = ("_PROXY",)


def trouble(env: str | None, file: str | None) -> str | None:
    """Why this is no place to read a credential from, or None."""
    if (env is None) == (file is None):
        return "give one of env and file"
    return file_trouble(file) if file is not None else variable_trouble(str(env))


def variable_trouble(name: str) -> str | None:
    """Why a variable cannot hold a credential, or None."""
    if not _VARIABLE.fullmatch(name) or len(name) > LONGEST_VARIABLE:
        return f"{name[:LONGEST_VARIABLE]!r} is no name for a variable: letters, digits and _ only"
    upper = name.upper()
    if upper in _STEERS or upper.startswith(_STEERS_BEGINNING) or upper.endswith(_STEERS_ENDING):
        return f"{name} steers programs and cannot hold a credential; choose a name of your own"
    return None


def file_trouble(path: str) -> str | None:
    """Why a path cannot name a credential's file, or None. It is absolute, or begins with ``~/``."""
    if not path.isprintable() or len(path) > LONGEST_FILE:
        return "the path is not one line of plain text"
    if not path.startswith(("/", "~/")):
        return f"{path!r} is relative; give an absolute path, or one below the home as ~/..."
    if path.endswith("/") or {".", "..", ""} & set(path.split("/")[1:]):
        return f"{path!r} is not a plain path to a file"
    return None


def default_variable(service_id: str, scheme_words: Sequence[str], part: Part) -> str:
    """``PAYMENTS_API_KEY``, and with the part where a scheme has two: ``SHOP_LOGIN_PASSWORD``."""
    words = [*service_id.split("-"), *(scheme_words or ["credential"]), *([] if part == "value" else [part])]
    name = "_".join(words).upper()
    return f"API_{name}" if variable_trouble(name) else name

"""Path templates."""

from __future__ import annotations

import re

_TEMPLATE = re.compile(r"\{([^{}/]+)\}")
_FIXED = re.compile(r"([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")


def names(path: str) -> list[str]:
    """The parameters of a path template, in order."""
    return _TEMPLATE.findall(path)


def trouble(path: str) -> str | None:
    """What keeps a path from being sent as it stands, or None.

    A path must not be able to leave the base path or name another host: it is put behind the origin
    as text.
    """
    fixed = _TEMPLATE.sub("x", path)
    if not path.startswith("/"):
        return "a path must begin with /"
    if not _FIXED.fullmatch(fixed):
        return "the path has characters that do not belong into a URL's path"
    segments = fixed.lower().replace("%2e", ".").split("/")
    if path.startswith("//") or any(segment in {".", ".."} for segment in segments):
        return "the path has empty or dotted segments that change where it leads"
    return None

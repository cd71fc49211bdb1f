"""Where requests go: the contract's origin, or this machine when a developer says so.

``ANVIL_BASE_URL`` sends requests to a server on loopback instead, for trying a bundle out. It can
name nothing else, because a repository's settings can set variables for the server. A path in it
replaces the contract's base path; without one ("" or "/") the base path stays.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anvil_core.air import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_core.air import Service

VARIABLE = "ANVIL_BASE_URL"


class OriginError(Exception):
    """The override is not usable; the text says why and what to do."""


@dataclass(frozen=True)
class Target:
    """The pinned origin. ``overridden``: this machine, which gets no credentials."""

    origin: Origin
    base_path: str
    overridden: bool = False


def target(service: Service, environ: Mapping[str, str]) -> Target:
    """Where this service's requests go. Raises OriginError."""
    override = environ.get(VARIABLE, "")
    if not override:
        return Target(service.origin, service.base_path)
    origin, path = _loopback(override)
    return Target(origin, path or service.base_path, overridden=True)


def _loopback(url: str) -> tuple[Origin, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise OriginError(_text(url, "is not a URL")) from None
    if parts.scheme not in {"http", "https"}:
        raise OriginError(_text(url, "does not start with http:// or https://"))
    if parts.query or parts.fragment or "@" in parts.netloc or "\\" in url or not url.isascii() or " " in url:
        raise OriginError(_text(url, "holds more than a host, a port and a path"))
    if not is_loopback(host):
        raise OriginError(_text(url, "does not name this machine"))
    scheme: str = parts.scheme
    if port is None:
        port = 443 if scheme == "https" else 80
    origin = Origin.model_validate({"scheme": scheme, "host": host, "port": port})
    return origin, parts.path.rstrip("/")


def is_loopback(host: str) -> bool:
    """127.0.0.0/8, ::1 or localhost, in their plain spelling."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback and "%" not in host and not getattr(address, "ipv4_mapped", None)


def _text(url: str, why: str) -> str:
    return (
        f"{VARIABLE} is {url[:200]!r}, which {why}. It may name 127.0.0.1, [::1] or localhost only: "
        "mend it, or remove it to use the API's own origin."
    )

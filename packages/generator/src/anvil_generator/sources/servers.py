"""Where requests go: the servers of a document, with every variable bound to its default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from anvil_core.air import Origin
from anvil_generator.sources import places, swagger2
from anvil_generator.sources.model import Server
from anvil_generator.sources.raw import text

if TYPE_CHECKING:
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|[0-9a-f:.]*:[0-9a-f:.]*")
_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*/?")
_USUAL_PORT = {"http": 80, "https": 443}
_REMEDY = "give the address as `server:` in the manifest"


def origin(server_url: str) -> tuple[Origin, str]:
    """Origin and base path ("" for the root) of an absolute URL; ValueError says what is wrong with it."""
    try:
        parts = urlsplit(server_url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"server {server_url!r} is not a URL") from error
    if not parts.scheme or not parts.netloc:
        raise ValueError(f"server {server_url!r} is relative")
    scheme: Literal["http", "https"]
    if parts.scheme == "https":
        scheme = "https"
    elif parts.scheme == "http":
        scheme = "http"
    else:
        raise ValueError(f"server {server_url!r} is not http or https")
    if not server_url.isprintable() or " " in server_url or port == 0:
        raise ValueError(f"server {server_url!r} is not a URL")
    if "@" in parts.netloc or "?" in server_url or "#" in server_url:
        raise ValueError(f"server {server_url!r} holds a user, a query or a fragment")
    host = parts.hostname or ""
    if not _HOST.fullmatch(host):
        raise ValueError(f"server {server_url!r} has no host name in plain letters")
    dotted = any(segment in {".", ".."} for segment in parts.path.lower().replace("%2e", ".").split("/"))
    if not _PATH.fullmatch(parts.path) or dotted:
        raise ValueError(f"server {server_url!r} has a path that is not plain")
    usual = _USUAL_PORT[scheme]
    return Origin(scheme=scheme, host=host, port=usual if port is None else port), parts.path.rstrip("/")


def is_loopback(host: str) -> bool:
    """This machine, in its plain spelling."""
    return host in {"localhost", "::1"} or re.fullmatch(r"127(\.[0-9]{1,3}){3}", host) is not None


def of_document(raw: Raw) -> tuple[Server, ...]:
    """The document's servers that have an origin; a warning says what to do about the others."""
    if raw.kind == "swagger-2.0":
        raw.stands_for["servers",] = ("host",)
        declared: Any = swagger2.servers(raw)
    else:
        declared = raw.root.get("servers")
    if not isinstance(declared, list) or not declared:
        raw.warn("server_missing", f"the document names no server; {_REMEDY}", ())
        return ()
    return read(raw, declared, ("servers",))


def read(raw: Raw, declared: list[Any], pointer: Pointer) -> tuple[Server, ...]:
    """The usable servers of one ``servers`` list, in its order."""
    found = []
    for index, entry in enumerate(declared):
        at = (*pointer, str(index))
        try:
            url = _bind(entry)
            where, base_path = origin(url)
        except ValueError as error:
            raw.warn("server_unusable", f"{error}; {_REMEDY}", at)
            continue
        found.append(Server(url, where, base_path, text(entry.get("description")), places.place(raw, at)))
    return tuple(found)


def _bind(entry: Any) -> str:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        raise ValueError("a server needs a `url`")  # noqa: TRY004 - the document is wrong, not the program
    variables = entry.get("variables")
    url: str = entry["url"].strip()
    for name in re.findall(r"\{([^{}]*)\}", url):
        variable = variables.get(name) if isinstance(variables, dict) else None
        default = variable.get("default") if isinstance(variable, dict) else None
        if default is None or isinstance(default, (dict, list)):
            raise ValueError(f"server variable {name!r} has no default")
        url = url.replace("{" + name + "}", str(default))
    return url

"""Security schemes and requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin

from anvil_core.air import AuthScheme, TokenEndpoint
from anvil_generator.sources import pointers, servers, swagger2
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
    from anvil_generator.sources.model import Home
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

_LOCATIONS: dict[str, Literal["query", "header", "cookie"]] = {
    "query": "query",
    "header": "header",
    "cookie": "cookie",
}

_KINDS: dict[str, Literal["api_key", "http", "oauth2", "openid", "mutual_tls"]] = {
    "apiKey": "api_key",
    "http": "http",
    "oauth2": "oauth2",
    "openIdConnect": "openid",
    "mutualTLS": "mutual_tls",
}


def schemes(raw: Raw, home: Home | None) -> tuple[AuthScheme, ...]:
    """The declared schemes; where an OAuth2 client gets its tokens may be relative to ``home``."""
    pointer: Pointer = ("components", "securitySchemes")
    if raw.kind == "swagger-2.0":
        pointer = ("securityDefinitions",)
    declared = pointers.get(raw.root, pointer)
    if not isinstance(declared, dict):
        return ()
    return tuple(_scheme(raw, name, entry, (*pointer, name), home) for name, entry in declared.items())


def _scheme(raw: Raw, name: str, entry: Any, pointer: Pointer, home: Home | None) -> AuthScheme:
    try:
        found, there = raw.object_at(entry, pointer, "a security scheme")
    except Stop as stop:
        raw.warn(stop.code, stop.message, stop.pointer)
        return AuthScheme(id=name, kind="unknown")
    if raw.kind == "swagger-2.0":
        found = swagger2.security_scheme(found)
    kind = _KINDS.get(str(found.get("type")), "unknown")
    name_there, scheme = text(found.get("name")), text(found.get("scheme")).lower()
    location = _LOCATIONS.get(str(found.get("in")))
    if kind == "api_key" and location and name_there:
        return AuthScheme(id=name, kind="api_key", name=name_there, location=location)
    if kind == "http" and scheme:
        return AuthScheme(id=name, kind="http", scheme=scheme)
    if kind == "oauth2":
        return AuthScheme(id=name, kind=kind, token=_token_endpoint(raw, found, there, home))
    if kind in {"openid", "mutual_tls"}:
        return AuthScheme(id=name, kind=kind)
    raw.warn("security_scheme_unknown", f"security scheme {name!r} is of no known kind", there)
    return AuthScheme(id=name, kind="unknown")


def _token_endpoint(
    raw: Raw, scheme: dict[str, Any], pointer: Pointer, home: Home | None
) -> TokenEndpoint | None:
    """That of the client credentials flow; None where there is no such flow, or it cannot be pinned."""
    flows = scheme.get("flows")
    flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
    if not isinstance(flow, dict):
        return None
    said, at = text(flow.get("tokenUrl")), (*pointer, "flows", "clientCredentials")
    url = urljoin(f"{home[0]}{home[1]}/", said) if home and said else said
    try:
        origin, path = servers.origin(url)
    except ValueError:
        raw.warn("token_url_unusable", f"token URL {said!r} is no plain absolute address; not used", at)
        return None
    if origin.scheme != "https" and not servers.is_loopback(origin.host):
        message = f"token URL {said!r} is not https, and would give the client's secret away; not used"
        raw.warn("token_url_unusable", message, at)
        return None
    return TokenEndpoint(origin=origin, path=path + ("/" if url.endswith("/") else ""))


def with_undeclared(
    declared: tuple[AuthScheme, ...], alternatives: list[tuple[tuple[str, ...], ...]]
) -> tuple[AuthScheme, ...]:
    """The schemes, and one of kind "unknown" for each name that is required but not declared."""
    known = {scheme.id for scheme in declared}
    used = {name for operation in alternatives for together in operation for name in together}
    return (*declared, *(AuthScheme(id=name, kind="unknown") for name in sorted(used - known)))


def alternatives(raw: Raw, operation: dict[str, Any], pointer: Pointer) -> tuple[tuple[str, ...], ...]:
    """The operation's own requirements, or the document's where it has none of its own."""
    if "security" in operation:
        return _requirements(operation["security"], (*pointer, "security"))
    return _requirements(raw.root.get("security", []), ("security",))


def scopes(
    raw: Raw, operation: dict[str, Any], schemes: tuple[AuthScheme, ...]
) -> dict[str, tuple[str, ...]]:
    """What the operation's requirements ask of each OAuth2 scheme; nothing of those that they do not name."""
    grants = {scheme.id for scheme in schemes if scheme.kind == "oauth2"}
    found: dict[str, set[str]] = {}
    for entry in operation.get("security", raw.root.get("security", [])):
        for name, wanted in entry.items():
            if name in grants and isinstance(wanted, list):
                found.setdefault(name, set()).update(one for one in wanted if isinstance(one, str))
    return {name: tuple(sorted(wanted)) for name, wanted in sorted(found.items()) if wanted}


def _requirements(declared: Any, pointer: Pointer) -> tuple[tuple[str, ...], ...]:
    well_formed = isinstance(declared, list) and all(isinstance(entry, dict) for entry in declared)
    if not well_formed:
        raise Stop("security_invalid", "`security` must be a list of objects", pointer)
    return tuple(dict.fromkeys(tuple(sorted(entry)) for entry in declared))


def check_declared(
    raw: Raw, declared: tuple[AuthScheme, ...], needed: tuple[tuple[str, ...], ...], pointer: Pointer
) -> None:
    known = {scheme.id for scheme in declared}
    for name in sorted({name for together in needed for name in together} - known):
        raw.warn("security_scheme_missing", f"security scheme {name!r} is not declared", pointer)

"""Security schemes and requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from anvil_core.air import AuthScheme
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
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


def schemes(raw: Raw) -> tuple[AuthScheme, ...]:
    """The declared schemes, and as "unknown" those that a requirement names without a declaration."""
    components = raw.root.get("components")
    declared = components.get("securitySchemes") if isinstance(components, dict) else None
    if not isinstance(declared, dict):
        return ()
    pointer = ("components", "securitySchemes")
    return tuple(_scheme(raw, name, entry, (*pointer, name)) for name, entry in declared.items())


def _scheme(raw: Raw, name: str, entry: Any, pointer: Pointer) -> AuthScheme:
    try:
        found, there = raw.object_at(entry, pointer, "a security scheme")
    except Stop as stop:
        raw.warn(stop.code, stop.message, stop.pointer)
        return AuthScheme(id=name, kind="unknown")
    kind = _KINDS.get(str(found.get("type")), "unknown")
    name_there, scheme = text(found.get("name")), text(found.get("scheme")).lower()
    location = _LOCATIONS.get(str(found.get("in")))
    if kind == "api_key" and location and name_there:
        return AuthScheme(id=name, kind="api_key", name=name_there, location=location)
    if kind == "http" and scheme:
        return AuthScheme(id=name, kind="http", scheme=scheme)
    if kind in {"oauth2", "openid", "mutual_tls"}:
        return AuthScheme(id=name, kind=kind)
    raw.warn("security_scheme_unknown", f"security scheme {name!r} is of no known kind", there)
    return AuthScheme(id=name, kind="unknown")


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

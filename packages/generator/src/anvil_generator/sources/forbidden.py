"""Parameters that are never arguments of a tool, whatever the document says."""

from __future__ import annotations

# OpenAPI: "If in is header and the name field is Accept, Content-Type or Authorization, the parameter
# definition SHALL be ignored."
IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})

# These change where a request goes, which method it is, who sent it, or how it is framed.
_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "http-host-override",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "x-client-ip",
        "x-host",
        "x-http-host-override",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-host",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    }
)
_HEADER_PREFIXES = ("proxy-", "sec-", "x-forwarded-")
_QUERY = frozenset({"_method", "x-http-method-override"})


def is_ignored(name: str, location: str) -> bool:
    return location == "header" and name.lower() in IGNORED_HEADERS


def is_forbidden(name: str, location: str) -> bool:
    lower = name.lower().replace("_", "-") if location == "header" else name.lower()
    if location == "header":
        return lower in _HEADERS or lower.startswith(_HEADER_PREFIXES)
    return location == "query" and lower in _QUERY

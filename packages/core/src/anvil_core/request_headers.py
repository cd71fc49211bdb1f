"""Which headers and query names no argument ever sets, and the form of those that one may.

The compiler leaves such a parameter out, or withholds an operation that requires one; the executor
refuses it whatever the contract says. One list, so that no tool is served that can never be called.

``User-Agent`` is not on it: it names the client's software and nothing that a server may trust, and
APIs exist that ask for it. One that the contract declares replaces the executor's own.
"""

from __future__ import annotations

import re

from anvil_core.names import words

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A field name, which is also the form of a cookie's name (RFC 9110, 5.6.2)."""

VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
"""A field value that every server reads alike: visible ASCII, spaces only inside (RFC 9110, 5.5)."""

COOKIE_VALUE = re.compile(r"[\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]*")
"""A cookie's value (RFC 6265, 4.1.1), and the comma that OpenAPI's table puts between several."""

SET_BY_THE_EXECUTOR = frozenset({"accept", "accept-encoding", "content-type"})
"""Their values follow from the media types of the contract, and from what the executor can read."""

# OpenAPI: "If in is header and the name field is Accept, Content-Type or Authorization, the parameter
# definition SHALL be ignored."
_IGNORED = SET_BY_THE_EXECUTOR | {"authorization"}

_NEVER = frozenset(
    {
        # who is calling
        *("authorization", "cookie", "cookie2", "set-cookie", "x-remote-user"),
        # where the request goes
        *("host", "x-host", "x-original-host", "http-host-override", "x-http-host-override"),
        *("x-original-url", "x-original-uri", "x-rewrite-url"),
        # which method it is
        *("x-http-method", "x-http-method-override", "x-method-override", "x-http-verb"),
        # where it came from
        *("forwarded", "via", "x-forwarded", "x-real-ip", "x-client-ip", "x-cluster-client-ip"),
        *("true-client-ip", "cf-connecting-ip", "fastly-client-ip", "x-originating-ip", "x-remote-ip"),
        "x-remote-addr",
        # how it is framed
        *("connection", "content-encoding", "content-length", "expect", "keep-alive", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    }
)
_NEVER_PREFIXES = ("proxy-", "sec-", "x-forwarded-")
_NEVER_IN_QUERY = frozenset(
    {
        *("_method", "_method_override", "_httpmethod", "_http_method", "_http_method_override"),
        *("http_method_override", "x_http_method", "x_http_method_override", "x_method_override"),
    }
)
# Cookies that say who is calling, as frameworks name them: sessionid, connect.sid, JSESSIONID, csrftoken, ...
_CREDENTIAL_WORDS = frozenset(
    {"auth", "authorization", "csrf", "jwt", "login", "password", "secret", "session", "sess", "sid", "token"}
)
_CREDENTIAL_PARTS = ("apikey", "csrf", "idempotency", "jwt", "sessid", "session", "token", "xsrf")


def is_ignored(name: str, location: str) -> bool:
    """A parameter that says nothing of its own, so that it can be left out without a word."""
    return location == "header" and name.lower() in _IGNORED


def is_never_an_argument(name: str, location: str) -> bool:
    """A parameter that changes what a request is or who makes it: some headers, cookies, query names.

    What holds for the query holds for a form's fields.
    """
    if location == "header":
        lower = name.lower().replace("_", "-")  # many servers read X_Forwarded_For as X-Forwarded-For
        return lower in _NEVER or lower.startswith(_NEVER_PREFIXES)
    if location == "cookie":
        run_together = re.sub("[^a-z]", "", name.lower())
        prefixed = name.startswith(("__Host-", "__Secure-"))
        named = any(part in run_together for part in _CREDENTIAL_PARTS)
        return prefixed or named or not _CREDENTIAL_WORDS.isdisjoint(words(name))
    return location == "query" and name.lower().replace("-", "_") in _NEVER_IN_QUERY

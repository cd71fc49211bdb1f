"""Which headers a request may carry, and in which form."""

from __future__ import annotations

import re

from anvil_runtime.styles import UnsendableError

# They name the host, the caller or another method, or steer the connection: whoever sets them
# changes what the request is. RFC 9110 and the usual extensions of proxies and frameworks.
NEVER_ARGUMENTS = frozenset(
    {
        *("host", "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "user-agent"),
        *("content-length", "content-encoding", "transfer-encoding", "accept-encoding", "connection"),
        *("keep-alive", "upgrade", "te", "trailer", "expect"),
        *("x-http-method", "x-http-method-override", "x-method-override", "x-http-verb"),
        *("forwarded", "via", "x-forwarded", "x-original-url", "x-original-uri", "x-original-host"),
        *("x-rewrite-url", "x-host", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip"),
        *("cf-connecting-ip", "fastly-client-ip", "x-originating-ip", "x-remote-ip", "x-remote-addr"),
        "x-remote-user",
    }
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


def is_never_an_argument(name: str) -> bool:
    lower = name.lower().replace("_", "-")  # many servers read X_Forwarded_For as X-Forwarded-For
    return lower in NEVER_ARGUMENTS or lower.startswith(("x-forwarded-", "proxy-", "sec-"))


def never_an_argument(name: str) -> str:
    return f"would set the header {name}, which no argument ever sets. Leave it out."


def check_header(argument: str, name: str, value: str, taken: set[str]) -> None:
    """Raise UnsendableError unless the header may be sent."""
    if is_never_an_argument(name):
        raise UnsendableError(argument, never_an_argument(name))
    if not _NAME.fullmatch(name):
        raise UnsendableError(argument, "would set a header whose name is none.")
    if name.lower() in taken:
        raise UnsendableError(argument, f"would set the header {name}, which is already set.")
    if value and not _VALUE.fullmatch(value):
        raise UnsendableError(
            argument, "goes into a header: visible ASCII only, with no line break or space at its ends."
        )

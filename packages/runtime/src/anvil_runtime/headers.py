"""Which headers and query names a request may carry, and in which form."""

from __future__ import annotations

from anvil_core.request_headers import COOKIE_VALUE, NAME, VALUE, is_never_an_argument
from anvil_runtime.styles import UnsendableError


def never_an_argument(name: str) -> str:
    return f"would set the header {name}, which no argument ever sets. Leave it out."


def check_header(argument: str, name: str, value: str, taken: set[str]) -> None:
    """Raise UnsendableError unless the header may be sent."""
    if is_never_an_argument(name, "header"):
        raise UnsendableError(argument, never_an_argument(name))
    if not NAME.fullmatch(name):
        raise UnsendableError(argument, "would set a header whose name is none.")
    if name.lower() in taken:
        raise UnsendableError(argument, f"would set the header {name}, which is already set.")
    if value and not VALUE.fullmatch(value):
        raise UnsendableError(
            argument, "goes into a header: visible ASCII only, with no line break or space at its ends."
        )


def check_cookie(argument: str, name: str, value: str, taken: set[str]) -> None:
    """Raise UnsendableError unless the cookie may be sent."""
    if is_never_an_argument(name, "cookie") or not NAME.fullmatch(name):
        raise UnsendableError(argument, f"would set the cookie {name}, which no argument ever sets.")
    if name in taken:
        raise UnsendableError(argument, f"would set the cookie {name}, which is already set.")
    if not COOKIE_VALUE.fullmatch(value):
        raise UnsendableError(
            argument, "goes into a cookie: visible ASCII only, without space, semicolon, quote or backslash."
        )


def check_query_name(argument: str, name: str) -> None:
    """Raise UnsendableError for a name, in the query or a form, that servers read as another method."""
    if is_never_an_argument(name, "query"):
        raise UnsendableError(argument, f"would set {name}, which no argument ever sets. Leave it out.")

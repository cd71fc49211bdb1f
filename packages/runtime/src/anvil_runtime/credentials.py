"""Credentials: chosen and read when a call is sent, joined to its request alone, and kept nowhere else.

A plan never holds one, so that a dry run, a preview, a person's question and the ledger cannot either.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from anvil_core.air import AuthScheme
from anvil_core.request_headers import VALUE
from anvil_runtime import oauth
from anvil_runtime.client import OriginChangedError
from anvil_runtime.secret_values import CredentialError, check_length, read
from anvil_runtime.styles import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_core.air import Operation, Origin, Service
    from anvil_runtime.client import Answer
    from anvil_runtime.oauth import Tokens
    from anvil_runtime.origin import Target
    from anvil_runtime.plan import Plan
    from anvil_runtime.redaction import Secrets
    from anvil_runtime.sending import Send

NOBODY = "none"
"""The identity of a call that is sent without a credential."""
ROUNDS = 100_000
SECRET_PARTS = ("value", "password", "client_secret")
"""A user name and a client id are not: many APIs give them back in every answer."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, 2.1: what follows ``Bearer``."""
_COOKIE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")
"""RFC 6265, 4.1.1: a cookie's value without quotes."""


@dataclass(frozen=True)
class Held:
    """One scheme with its credential, for as long as one call takes."""

    scheme: AuthScheme
    parts: Mapping[str, str] = field(repr=False)

    @property
    def who(self) -> str:
        """What tells this credential's owner from another: a name where it has one, else the secret."""
        return self.parts.get("client_id") or self.parts.get("username") or self.parts["value"]


@dataclass(frozen=True)
class Credentials:
    """The credentials of one service, as the executor uses them. ``send`` is the client's own."""

    service: Service
    environ: Mapping[str, str] = field(repr=False)
    secrets: Secrets
    tokens: Tokens
    send: Send

    def lacking(self, operation: Operation, goal: Target) -> str | None:
        """Why the call has no credential, and what to set for it; None where it has one, or needs none."""
        try:
            self._chosen(operation, goal)
        except CredentialError as error:
            return str(error)
        return None

    def identity(self, operation: Operation, goal: Target) -> str:
        """Whose credential a call would use, as 32 hex digits, or ``NOBODY``. Raises CredentialError.

        The same for the same user name, client id, key or token, in every process and after a restart, so
        that the idempotency ledger can be keyed by it. It is salted with the service and stretched: what
        the ledger keeps tells neither the secret nor whether another service has the same.
        """
        held = self._chosen(operation, goal)
        if not held:
            return NOBODY
        salt = f"anvil credential\0{self.service.id}\0{self.service.origin}".encode()
        who = "\0".join(text for one in held for text in (one.scheme.id, one.who))
        return _stretched(who.encode(), salt)

    def sender(self, operation: Operation, goal: Target) -> Send:
        """Sends plans of one call with its credential, read anew each time; answers come back without it.

        Raises CredentialError besides what the client raises: a kind of NotSentError, as nothing was sent.
        """

        def send(plan: Plan, origin: Origin) -> Answer:
            held = self._chosen(operation, goal)
            answer = self.send(self._joined(plan, operation, goal, held), origin)
            if answer.status == 401:
                self.tokens.forget(one.scheme.id for one in held)
            return self.secrets.clean(answer)

        return send

    def _chosen(self, operation: Operation, goal: Target) -> tuple[Held, ...]:
        """The first alternative whose credentials are all there. Raises CredentialError where none is."""
        if not operation.auth or (goal.overridden and not self.service.loopback_credentials):
            return ()
        wanted = []
        for together in filter(None, operation.auth):
            looked = [self._look(name) for name in together]
            missing = [lack for lacks, _ in looked for lack in lacks]
            if not missing:
                return tuple(held for _, held in looked)
            wanted.append(" and ".join(missing))
        if () in operation.auth:  # asked last, so that a credential which is there is used
            return ()
        raise CredentialError(
            f"the API asks for a credential, and this server has none. It needs {'; or '.join(wanted)}. "
            "Tell the user to set it where the server is started; do not retry"
        )

    def _look(self, name: str) -> tuple[list[str], Held]:
        """What is missing of one scheme's credential, and what is there of it."""
        scheme = next((one for one in self.service.auth if one.id == name), None)
        if scheme is None or not scheme.sources:
            scheme = scheme or AuthScheme(id=name, kind="unknown")
            return [f"{name} ({scheme.scheme or scheme.kind}), which Anvil cannot do"], Held(scheme, {})
        missing, parts = list[str](), dict[str, str]()
        for source in scheme.sources:
            value = read(source, self.environ)
            if value is None:
                missing.append(f"{source} ({name})")
                continue
            if source.part in SECRET_PARTS or len(scheme.sources) == 1:
                check_length(source, value)
                self.secrets.add(value)
            parts[source.part] = value
        return missing, Held(scheme, parts)

    def _joined(self, plan: Plan, operation: Operation, goal: Target, held: tuple[Held, ...]) -> Plan:
        """The request with its credential. Raises CredentialError, OriginChangedError."""
        if plan.base != str(goal.origin) or not f"{plan.path}/".startswith(f"{goal.base_path}/"):
            raise OriginChangedError(f"it would leave {goal.origin}{goal.base_path}.")
        headers, query, cookies = list(plan.headers), [plan.query] if plan.query else [], []
        for one in held:
            scheme = one.scheme
            if scheme.kind == "api_key" and scheme.location == "query":
                query.append(f"{encode(str(scheme.name))}={encode(one.parts['value'])}")
                _check_free(str(scheme.name), plan.query)
            elif scheme.kind == "api_key" and scheme.location == "cookie":
                cookies.append(f"{scheme.name}={_fitting(one, _COOKIE, 'visible ASCII without , ; quotes')}")
            else:
                headers.append(self._header(one, operation, goal))
        headers = _with_cookies(headers, cookies)
        names = [name.lower() for name, _ in headers]
        if len(names) > len(set(names)):
            twice = next(name for name in names if names.count(name) > 1)
            raise CredentialError(f"the header {twice}, where the credential goes, is already set")
        return replace(plan, headers=tuple(headers), query="&".join(query))

    def _header(self, one: Held, operation: Operation, goal: Target) -> tuple[str, str]:
        scheme = one.scheme
        if scheme.kind == "api_key":
            return str(scheme.name), _fitting(one, VALUE, "visible ASCII, spaces only inside")
        if scheme.kind == "http" and scheme.scheme == "basic":
            return "Authorization", self._basic(one)
        token = one.parts.get("value")
        if token is None:
            ask = oauth.Ask(self.service, scheme, operation.scopes.get(scheme.id, ()), goal, one.parts)
            token = self.tokens.get(ask, self.send, self.secrets)
        elif not _TOKEN.fullmatch(token):
            raise CredentialError(f"{scheme.sources[0]} is no bearer token: give the token alone")
        return "Authorization", f"Bearer {token}"

    def _basic(self, one: Held) -> str:
        """RFC 7617; a user without a password where the manifest names none."""
        username = one.parts["username"]
        if ":" in username:
            raise CredentialError(f"{one.scheme.sources[0]} holds a colon, which no user name can have")
        pair = base64.b64encode(f"{username}:{one.parts.get('password', '')}".encode()).decode("ascii")
        self.secrets.add(pair)
        return f"Basic {pair}"


@lru_cache(maxsize=64)
def _stretched(who: bytes, salt: bytes) -> str:
    """Kept in this process, where the secret is anyway: it takes tens of milliseconds."""
    return hashlib.pbkdf2_hmac("sha256", who, salt, ROUNDS, 16).hex()


def _with_cookies(headers: list[tuple[str, str]], cookies: list[str]) -> list[tuple[str, str]]:
    """All cookies are one header (RFC 6265, 5.4). Raises CredentialError where an argument has set one."""
    if not cookies:
        return headers
    given = [pair for name, value in headers if name == "Cookie" for pair in value.split("; ")]
    for name in {pair.partition("=")[0] for pair in cookies}:
        if name in {pair.partition("=")[0] for pair in given}:
            raise CredentialError(f"an argument sets the cookie {name}, where the credential goes")
    return [*(pair for pair in headers if pair[0] != "Cookie"), ("Cookie", "; ".join([*given, *cookies]))]


def _fitting(one: Held, form: re.Pattern[str], words: str) -> str:
    value = one.parts["value"]
    if not form.fullmatch(value):
        raise CredentialError(f"{one.scheme.sources[0]} cannot be sent: it must be {words}")
    return value


def _check_free(name: str, query: str) -> None:
    if encode(name) in {pair.partition("=")[0] for pair in query.split("&")}:
        raise CredentialError(f"an argument sets {name} in the query, where the credential goes")

"""Access tokens of OAuth2 client credentials (RFC 6749, 4.4): in memory alone, fetched once for all calls."""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

from anvil_runtime import client
from anvil_runtime.plan import Plan
from anvil_runtime.secret_values import CredentialError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anvil_core.air import AuthScheme, Origin, Service
    from anvil_runtime.origin import Target
    from anvil_runtime.redaction import Secrets
    from anvil_runtime.sending import Send

FORM = "application/x-www-form-urlencoded"
LARGEST_ANSWER = 64 * 1024
EARLY_SECONDS = 60.0
"""A token that ends sooner than this is fetched anew, or at half of its life where that is shorter."""
USUAL_SECONDS = 300.0
"""The life of a token whose endpoint does not say: RFC 6749 leaves it open."""
LONGEST_SECONDS = 24 * 3600.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_ERROR = re.compile(r"[a-z_]{1,40}")


class NoTokenError(client.NotSentError):
    """The token endpoint could not be used, so that the call itself was not sent. Later, it may be."""


@dataclass(frozen=True)
class Ask:
    """What an access token is asked for. ``parts``: client_id and client_secret."""

    service: Service
    scheme: AuthScheme
    scopes: tuple[str, ...]
    goal: Target
    parts: Mapping[str, str] = field(repr=False)

    @property
    def origin(self) -> Origin:
        """The pinned endpoint; the API's own moves with the API to a server on this machine."""
        assert self.scheme.token is not None
        own = self.scheme.token.origin == self.service.origin
        return self.goal.origin if own and self.goal.overridden else self.scheme.token.origin

    @property
    def key(self) -> tuple[str, ...]:
        return self.scheme.id, str(self.origin), *self.scopes, *sorted(self.parts.values())


@dataclass
class Kept:
    """One token, or the last failure to get one. Times are those of ``time.monotonic``."""

    lock: Lock = field(default_factory=Lock)
    token: str | None = field(default=None, repr=False)
    until: float = 0.0
    failure: Exception | None = None
    failed_at: float = 0.0


@dataclass
class Tokens:
    """The tokens of one process. Safe for threads: who comes while one is fetched waits for that one."""

    _kept: dict[tuple[str, ...], Kept] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def get(self, ask: Ask, send: Send, secrets: Secrets) -> str:
        """A token that is good for now. Raises CredentialError where the endpoint refuses the client,
        NoTokenError where it cannot be used.
        """
        came = time.monotonic()
        with self._lock:
            kept = self._kept.setdefault(ask.key, Kept())
        with kept.lock:
            if kept.token is not None and time.monotonic() < kept.until:
                return kept.token
            if kept.failure is not None and kept.failed_at > came:
                raise kept.failure
            try:
                token, seconds = fetch(ask, send, secrets)
            except client.NotSentError as error:
                kept.failure, kept.failed_at = error, time.monotonic()
                raise
            kept.token, kept.failure = token, None
            kept.until = time.monotonic() + seconds - min(EARLY_SECONDS, seconds / 2)
            return token

    def forget(self, schemes: Iterable[str]) -> None:
        """The API took them no longer: the next call gets new ones."""
        gone = set(schemes)
        with self._lock:
            self._kept = {key: kept for key, kept in self._kept.items() if key[0] not in gone}


def fetch(ask: Ask, send: Send, secrets: Secrets) -> tuple[str, float]:
    """(token, its life in seconds) from the pinned endpoint: one request, no redirect."""
    origin = ask.origin
    try:
        answer = send(_request(ask, secrets), origin)
    except (client.NotSentError, client.TimedOutError, client.BrokenError) as error:
        raise NoTokenError(f"no access token for {ask.scheme.id} from {origin}: {error}") from None
    what = f"the token endpoint of {ask.scheme.id} at {origin} answered {answer.status}"
    if 300 <= answer.status < 400:
        raise CredentialError(f"{what}, a redirect, which is never followed. Tell the user; do not retry")
    data = _object(answer)
    if answer.status in (400, 401, 403):
        said = data.get("error")
        word = f" ({said})" if isinstance(said, str) and _ERROR.fullmatch(said) else ""
        named = " and ".join(str(source) for source in ask.scheme.sources)
        raise CredentialError(f"{what}{word}. Tell the user to look at {named}; do not retry")
    if not 200 <= answer.status < 300:
        raise NoTokenError(what)
    token, kind = data.get("access_token"), data.get("token_type", "bearer")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or str(kind).lower() != "bearer":
        raise NoTokenError(f"{what}, without a bearer token")
    secrets.add(token)
    return token, _seconds(data.get("expires_in"))


def _request(ask: Ask, secrets: Secrets) -> Plan:
    endpoint = ask.scheme.token
    assert endpoint is not None
    form = {"grant_type": "client_credentials"}
    if ask.scopes:
        form["scope"] = " ".join(ask.scopes)
    headers = [("Accept", "application/json"), ("Accept-Encoding", "identity"), ("Content-Type", FORM)]
    client_id, secret = ask.parts["client_id"], ask.parts["client_secret"]
    if endpoint.client == "basic":
        pair = base64.b64encode(f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()).decode("ascii")
        secrets.add(pair)
        headers.append(("Authorization", f"Basic {pair}"))
    else:
        form |= {"client_id": client_id, "client_secret": secret}
    body = urlencode(form).encode("ascii")
    return Plan("POST", str(ask.origin), endpoint.path, "", tuple(headers), body, FORM)


def _object(answer: client.Answer) -> dict[str, Any]:
    """The answer's JSON object; empty where it is none, or too large to be a token's."""
    if answer.cut or len(answer.body) > LARGEST_ANSWER:
        return {}
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _seconds(said: object) -> float:
    """The life that the endpoint gives; some write the number as text."""
    if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 12:
        said = int(said)
    if isinstance(said, bool) or not isinstance(said, int | float) or not said > 0:
        return USUAL_SECONDS
    return min(float(said), LONGEST_SECONDS)

"""Send one planned request to the pinned origin, and bring back a bounded answer.

Nothing of the surroundings takes part: no proxy or netrc from the environment, no redirect followed,
no compression asked for. One deadline holds for the whole exchange, however the API spends the time,
and closes the connection: the exchange is a coroutine, so it can be given up at any of its steps.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anvil_runtime.spill import NoRoomError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    from anvil_core.air import Origin
    from anvil_runtime.plan import Plan
    from anvil_runtime.spill import Spill, Spilled, Writer

LARGEST_ANSWER = 2 * 1024 * 1024
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 50.0
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Answer:
    """What the API said. ``cut``: there was more than is kept; ``spilled``: the file that has it."""

    status: int
    reason: str
    media_type: str
    body: bytes
    cut: bool = False
    location: str | None = None
    retry_after: str | None = None
    spilled: Spilled | None = None


class NotSentError(Exception):
    """The request did not leave: the connection was refused, or the origin is not the pinned one."""


class OriginChangedError(NotSentError):
    """The request would go elsewhere than to the pinned origin."""


class TimedOutError(Exception):
    """The request was sent, and no whole answer came in time."""


class BrokenError(Exception):
    """The request was sent, at least in part, and the connection failed."""


@dataclass
class Connections:
    """HTTP clients for the life of one event loop, and the place for answers that are too large.

    Reads share connections. A mutation gets one of its own: an API may close a shared one just as the
    request is on its way, and nobody could tell whether it was carried out.
    """

    spill: Spill | None = None
    _clients: dict[bool, httpx2.AsyncClient] = field(default_factory=dict, repr=False)

    def client(self, *, shared: bool) -> httpx2.AsyncClient:
        import httpx2  # noqa: PLC0415  # a server start or a dry run needs none of it

        if shared not in self._clients:
            limits = httpx2.Limits(max_keepalive_connections=20 if shared else 0, keepalive_expiry=5.0)
            self._clients[shared] = httpx2.AsyncClient(trust_env=False, follow_redirects=False, limits=limits)
        return self._clients[shared]

    def send_from_worker(self, plan: Plan, origin: Origin) -> Answer:
        """Send in the server's own loop, for a worker thread of it: ended when the call is cancelled."""
        import anyio.from_thread  # noqa: PLC0415

        return anyio.from_thread.run(exchange, plan, origin, ANSWER_SECONDS, self)

    async def close(self) -> None:
        while self._clients:
            _, one = self._clients.popitem()
            await one.aclose()

    @contextlib.asynccontextmanager
    async def closing(self) -> AsyncIterator[Connections]:
        import anyio  # noqa: PLC0415

        try:
            yield self
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()


def send(
    plan: Plan, origin: Origin, *, answer_seconds: float = ANSWER_SECONDS, spill: Spill | None = None
) -> Answer:
    """Send the request once. Raises NotSentError, TimedOutError or BrokenError."""
    import anyio  # noqa: PLC0415

    async def alone() -> Answer:
        async with Connections(spill).closing() as connections:
            return await exchange(plan, origin, answer_seconds, connections)

    return anyio.run(alone)


async def exchange(plan: Plan, origin: Origin, answer_seconds: float, connections: Connections) -> Answer:
    import anyio  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    timeout = httpx2.Timeout(answer_seconds, connect=CONNECT_SECONDS)
    try:
        extensions = {"timeout": timeout.as_dict()}
        request = httpx2.Request(
            plan.method, plan.url, headers=list(plan.headers), content=plan.body, extensions=extensions
        )
    except httpx2.InvalidURL as error:
        raise NotSentError(f"the request has no valid URL: {error}") from None
    check_origin(request, origin)
    client = connections.client(shared=plan.method in SAFE_METHODS)
    try:
        with anyio.fail_after(answer_seconds):
            response = await client.send(request, stream=True)
            try:
                body, cut, spilled = await _read(response, connections.spill)
            finally:
                await response.aclose()
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as error:
        raise NotSentError(f"no connection to {origin}: {error}") from None
    except (httpx2.TimeoutException, TimeoutError):
        raise TimedOutError(f"no whole answer within {answer_seconds:g} seconds") from None
    except httpx2.HTTPError as error:
        raise BrokenError(f"the connection failed ({type(error).__name__})") from None
    headers = response.headers
    return Answer(
        status=response.status_code,
        reason=response.reason_phrase,
        media_type=headers.get("content-type", ""),
        body=body,
        cut=cut,
        spilled=spilled,
        location=headers.get("location"),
        retry_after=headers.get("retry-after"),
    )


def check_origin(request: httpx2.Request, origin: Origin) -> None:
    """The last look before a request leaves: whatever made it, it goes to the pinned origin or nowhere."""
    url = request.url
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    if (url.scheme, url.host.lower(), port) != (origin.scheme, origin.host, origin.port) or url.userinfo:
        raise OriginChangedError(
            f"it would go to {url.scheme}://{url.host}:{port}, and the contract pins {origin}."
        )


async def _read(response: httpx2.Response, spill: Spill | None) -> tuple[bytes, bool, Spilled | None]:
    """At most LARGEST_ANSWER bytes, whether there was more, and the file that all went to, if one did."""
    body, pieces = bytearray(), response.aiter_bytes()
    async for piece in pieces:
        body += piece
        if len(body) > LARGEST_ANSWER:
            file = spill.start() if spill and response.is_success else None
            if file is None:
                return bytes(body[:LARGEST_ANSWER]), True, None
            return await _spill(bytes(body), pieces, file)
    return bytes(body), False, None


async def _spill(
    body: bytes, pieces: AsyncIterator[bytes], file: Writer
) -> tuple[bytes, bool, Spilled | None]:
    try:
        file.feed(body)
        async for piece in pieces:
            file.feed(piece)
            if file.full:
                break
        return body[:LARGEST_ANSWER], file.full, file.finish()
    except NoRoomError:  # the answer is cut, as where there is no file at all
        file.abandon()
        return body[:LARGEST_ANSWER], True, None
    except BaseException:
        file.abandon()
        raise

"""Send one planned request to the pinned origin, and bring back a bounded answer.

Nothing of the surroundings takes part: no proxy or netrc from the environment, no redirect followed,
no compression asked for. One deadline holds for the whole exchange, however the API spends the time,
and closes the connection: the exchange is a coroutine, so it can be given up at any of its steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

    from anvil_core.air import Origin
    from anvil_runtime.plan import Plan

LARGEST_ANSWER = 2 * 1024 * 1024
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 50.0


@dataclass(frozen=True)
class Answer:
    """What the API said. ``cut``: it was longer than what is kept."""

    status: int
    reason: str
    media_type: str
    body: bytes
    cut: bool = False
    location: str | None = None


class NotSentError(Exception):
    """The request did not leave: the connection was refused, or the origin is not the pinned one."""


class OriginChangedError(NotSentError):
    """The request would go elsewhere than to the pinned origin."""


class TimedOutError(Exception):
    """The request was sent, and no whole answer came in time."""


class BrokenError(Exception):
    """The request was sent, at least in part, and the connection failed."""


def send(plan: Plan, origin: Origin, *, answer_seconds: float = ANSWER_SECONDS) -> Answer:
    """Send the request once. Raises NotSentError, TimedOutError or BrokenError."""
    import anyio  # noqa: PLC0415

    return anyio.run(exchange, plan, origin, answer_seconds)


def send_from_worker(plan: Plan, origin: Origin) -> Answer:
    """The same, in the server's own loop, for a worker thread of it: ended when the call is cancelled."""
    import anyio.from_thread  # noqa: PLC0415

    return anyio.from_thread.run(exchange, plan, origin, ANSWER_SECONDS)


async def exchange(plan: Plan, origin: Origin, answer_seconds: float) -> Answer:
    import anyio  # noqa: PLC0415  # a server start or a dry run needs none of it
    import httpx2  # noqa: PLC0415

    try:
        request = httpx2.Request(plan.method, plan.url, headers=list(plan.headers), content=plan.body)
    except httpx2.InvalidURL as error:
        raise NotSentError(f"the request has no valid URL: {error}") from None
    check_origin(request, origin)
    timeout = httpx2.Timeout(answer_seconds, connect=CONNECT_SECONDS)
    try:
        with anyio.fail_after(answer_seconds):
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout) as client:
                response = await client.send(request, stream=True)
                try:
                    body, cut = await _read(response)
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
        location=headers.get("location"),
    )


def check_origin(request: httpx2.Request, origin: Origin) -> None:
    """The last look before a request leaves: whatever made it, it goes to the pinned origin or nowhere."""
    url = request.url
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    if (url.scheme, url.host.lower(), port) != (origin.scheme, origin.host, origin.port) or url.userinfo:
        raise OriginChangedError(
            f"it would go to {url.scheme}://{url.host}:{port}, and the contract pins {origin}."
        )


async def _read(response: httpx2.Response) -> tuple[bytes, bool]:
    """At most LARGEST_ANSWER bytes, and whether there was more."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            return body[:LARGEST_ANSWER], True
    return body, False

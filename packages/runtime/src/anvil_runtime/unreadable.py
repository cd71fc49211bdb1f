"""Answer the messages that the SDK's transport cannot read, and leaves without an answer.

Half a surrogate pair, a number of thousands of digits or deep nesting is not read as JSON there, and
the client would wait for its answer for ever.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NOT_READ = (
    "Nothing was sent: the message is not JSON that can be read. Text must be Unicode with no lone "
    "surrogate, numbers short, nesting shallow. Mend the arguments and call again."
)
INVALID_REQUEST = -32600
_PART = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@asynccontextmanager
async def answered(incoming: Any, outgoing: Any) -> AsyncIterator[Any]:
    """The messages of ``incoming``, less the unreadable requests, which get an error as their answer."""
    import anyio  # noqa: PLC0415
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp_types import ErrorData, JSONRPCError  # noqa: PLC0415

    to_server, readable = anyio.create_memory_object_stream[Any](0)
    error = ErrorData(code=INVALID_REQUEST, message=NOT_READ)

    async def pass_on() -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the server has ended
            async with to_server:
                async for message in incoming:
                    name = request_id(line_of(message)) if isinstance(message, Exception) else None
                    if name is None:
                        await to_server.send(message)
                    else:
                        await outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=name, error=error)))

    async with anyio.create_task_group() as group, readable:
        group.start_soon(pass_on)
        yield readable
        group.cancel_scope.cancel()


def line_of(error: Exception) -> str:
    """What was read, as the SDK's error tells it."""
    from pydantic import ValidationError  # noqa: PLC0415

    if isinstance(error, ValidationError):
        for one in error.errors(include_url=False, include_context=False):
            if one["type"] == "json_invalid" and isinstance(one["input"], str):
                return one["input"]
    return ""


def request_id(line: str) -> str | int | None:
    """The id of a request that is no whole JSON; None where it is no request, or has none."""
    depth, before, name = 0, "", ""
    found: dict[str, str] = {}
    for match in _PART.finditer(line):
        part = match.group()
        if before == ":" and depth == 1:
            found[name] = part
        elif part == ":":
            name = before
        depth += (part in ("{", "[")) - (part in ("}", "]"))
        before = part
    try:
        value: object = json.loads(found.get('"id"', "null"))
    except ValueError:
        return None
    if '"method"' not in found or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value if value.isprintable() else None
    return value if isinstance(value, int) else None

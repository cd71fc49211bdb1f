"""Who makes a call, as far as its transport says: all of it is the caller's own word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Question:
    """A form for a person (MCP elicitation). ``schema``: flat properties of primitive types."""

    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back: the client's word for it, and the form's content when it was accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """``call_id`` and ``meta`` are of the request; ``ask`` shows a form to a person, where the client can."""

    channel: Literal["mcp", "command line"]
    client: str | None = None
    version: str | None = None
    call_id: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[Question], Reply] | None = None


COMMAND_LINE = Caller("command line")

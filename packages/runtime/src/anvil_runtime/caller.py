"""Who makes a call, as far as its transport says: all of it is the caller's own word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anvil_runtime.plan import Plan


@dataclass(frozen=True)
class Question:
    """A form for a person (MCP elicitation). ``schema``: flat properties of primitive types.

    ``expected``: the right answer, where there is one; it stays on this side, for whoever reads the reply.
    """

    message: str
    schema: Mapping[str, Any]
    expected: str | None = None


@dataclass(frozen=True)
class Reply:
    """What came back: the client's word for it, and the form's content when it was accepted.

    ``unanswered``: the client failed, or took too long. ``question``: the one that was shown, which an
    earlier request of the same call may have asked.
    """

    action: Literal["accept", "decline", "cancel", "unanswered"]
    content: Mapping[str, Any] = field(default_factory=dict)
    question: Question | None = None


class NeedsAnswer(BaseException):  # no error, and nothing that means an error may catch it
    """Raised by ``ask`` where the answer comes with a later request of the same call: nothing was sent."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.message)
        self.question = question


@dataclass(frozen=True)
class Caller:
    """``call_id`` and ``meta`` are of the request; ``ask`` shows a form to a person, where the client can.

    ``approve`` is set by ``anvil_runtime.allow`` alone, with the channel "person": it has somebody read this
    very call and type a code at a terminal. It gets the request and the call's digest, and says None for a
    yes, else a cause of ``human.CAUSES``. It is code of this process: no argument, message, file or variable
    can hold one.
    """

    channel: Literal["mcp", "command line", "person"]
    client: str | None = None
    version: str | None = None
    call_id: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[Question], Reply] | None = None
    approve: Callable[[Plan, str], str | None] | None = None


COMMAND_LINE = Caller("command line")

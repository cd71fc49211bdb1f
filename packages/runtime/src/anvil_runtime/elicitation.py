"""Forms for a person over MCP, in both eras of the protocol, and who calls, from what a request says.

Until 2025-11-25 the server sends ``elicitation/create`` and waits. From 2026-07-28 on it answers the call
with ``input_required``, and the client calls again with the answer and the state that it was given. That
state is a random name of what this process keeps: nothing that a client could read, forge or use twice.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from anvil_runtime.caller import Caller, NeedsAnswer, Question, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mcp_types

    from anvil_core.clients import Clients

ANSWER_SECONDS = 600
"""How long a person may take."""
MOST_PENDING = 256
WITH_FORMS = "2025-06-18"
"""The first version of the protocol that has ``elicitation/create``."""
STATELESS = "2026-07-28"
REQUEST = "answer"
UNANSWERED = Reply("unanswered")
STALE = (
    "requestState is not one that this server gave out for this call, or it has been used or is older than"
    " ten minutes. Nothing was sent. Make the call again without requestState: the question is asked anew."
)


@dataclass(frozen=True)
class Pending:
    """A question that was asked about one call, and until when it may be answered."""

    call: str
    question: Question
    until: float


@dataclass
class Questions:
    """The questions of one process whose answers come with another request. Safe for threads."""

    now: Callable[[], float] = time.monotonic
    _pending: dict[str, Pending] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def ask(self, tool: str, args: object, question: Question) -> str:
        """Keep the question. Returns the state for the client."""
        state = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._pending) >= MOST_PENDING:
                del self._pending[next(iter(self._pending))]
            self._pending[state] = Pending(call_text(tool, args), question, self.now() + ANSWER_SECONDS)
        return state

    def take(self, state: str | None, tool: str, args: object) -> Question | None:
        """The question that this state stands for, once, and for the very call that it was asked about."""
        with self._lock:
            pending = self._pending.pop(state, None) if state else None
        if pending is None or pending.until < self.now() or pending.call != call_text(tool, args):
            return None
        return pending.question


def call_text(tool: str, args: object) -> str:
    """A call, to compare it with another: 1, 1.0 and true are three different arguments."""
    return json.dumps([tool, args], sort_keys=True)


def can_show_forms(capabilities: mcp_types.ClientCapabilities | None) -> bool:
    """Whether the client declares forms: ``{}`` stands for forms alone."""
    declared = capabilities.elicitation if capabilities else None
    return declared is not None and (declared.form is not None or declared.url is None)


def caller_of(
    context: Any, params: mcp_types.CallToolRequestParams, clients: Clients, questions: Questions
) -> Caller:
    """Who calls, and how to ask a person there."""
    started = context.session.client_params
    info = started.client_info if started else None
    meta: Mapping[str, Any] = dict(context.meta or {})
    return Caller(
        "mcp",
        client=info.name if info else None,
        version=info.version if info else None,
        call_id=clients.call_id(meta),
        meta=meta,
        ask=asker(context, params, questions),
    )


def asker(
    context: Any, params: mcp_types.CallToolRequestParams, questions: Questions
) -> Callable[[Question], Reply] | None:
    """The way to a person over this connection, or None.

    Raises MCPError, an error of the protocol, for a state that was not given out for this very call, is used
    up or too old (the protocol's 2026-07-28, multi round-trip requests: a server must reject it).
    """
    from mcp_types.version import is_version_at_least  # noqa: PLC0415

    if not is_version_at_least(context.protocol_version, WITH_FORMS):
        return None
    if not can_show_forms(context.session.client_capabilities):
        return None
    if is_version_at_least(context.protocol_version, STATELESS):
        asked = questions.take(params.request_state, params.name, params.arguments)
        if asked is None and params.request_state is not None:
            raise stale()
        answer = (params.input_responses or {}).get(REQUEST)
        return partial(answered, asked, answer)
    return partial(ask_from_worker, context)


def stale() -> Exception:
    import mcp_types  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    return MCPError(mcp_types.INVALID_PARAMS, STALE)


def answered(asked: Question | None, answer: Any, question: Question) -> Reply:
    """The answer that came with this request. Raises NeedsAnswer when none did."""
    if asked is None or answer is None:
        raise NeedsAnswer(question)
    return reply_of(answer, asked)


def reply_of(answer: Any, question: Question) -> Reply:
    """What the client says, checked to be an answer to a form."""
    action, content = getattr(answer, "action", None), getattr(answer, "content", None)
    if action not in ("accept", "decline", "cancel"):
        return Reply("unanswered", question=question)
    return Reply(action, dict(content or {}), question)


def ask_from_worker(context: Any, question: Question) -> Reply:
    """Ask in the server's own loop, from a worker thread of it: ended when the call is cancelled."""
    import anyio.from_thread  # noqa: PLC0415

    return anyio.from_thread.run(elicit, context, question, ANSWER_SECONDS)


async def elicit(context: Any, question: Question, seconds: float) -> Reply:
    """Send the form and wait. A client that fails, or does not answer in time, has not answered."""
    import anyio  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    with anyio.move_on_after(seconds):
        try:
            answer = await context.session.elicit_form(
                question.message, dict(question.schema), context.request_id
            )
        except (MCPError, ValueError):  # ValueError: an answer of another form
            return Reply("unanswered", question=question)
        return reply_of(answer, question)
    return Reply("unanswered", question=question)


def input_required(question: Question, state: str) -> mcp_types.InputRequiredResult:
    """The answer to a call that a person must be asked about first."""
    import mcp_types  # noqa: PLC0415

    form = mcp_types.ElicitRequestFormParams(message=question.message, requested_schema=dict(question.schema))
    return mcp_types.InputRequiredResult(
        input_requests={REQUEST: mcp_types.ElicitRequest(params=form)}, request_state=state
    )

"""The form that asks a person to type a code: what a program, a held key or typing ahead does not answer.

One required text field and four fresh letters (facts: human-approval.md, part 2 f): a choice can be made by a
held Enter or by a digit typed ahead, and a form without fields is accepted by some clients by themselves.
"""

from __future__ import annotations

import json
import secrets
import unicodedata
from typing import TYPE_CHECKING, Any

from anvil_runtime.asking import COLUMNS, ROWS, escape
from anvil_runtime.caller import Question
from anvil_runtime.words import approval_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_core.air import Operation
    from anvil_core.clients import Client
    from anvil_runtime.caller import Reply
    from anvil_runtime.execute import Executor

FIELD = "code"
LETTERS, LENGTH = "ABCDEFGHJKLMNPQRSTUVWXYZ", 4


def ask(
    executor: Executor,
    operation: Operation,
    args: dict[str, Any],
    client: Client | None,
    ask_person: Callable[[Question], Reply],
) -> str | None:
    """None when a person typed the code; else "person" for a person's no, or a cause of ``human.CAUSES``.

    One question, one answer: whoever asks keeps the code with the call that it was shown for, and hands the
    question back with the reply.
    """
    code = fresh_code()
    message = text(executor, operation, args, code)
    if sum(map(rows, message.split("\n"))) > ROWS:  # what is cut off, nobody has approved
        return "too_long"
    reply = ask_person(Question(message, schema(operation), code))
    if reply.action == "accept":
        return None if is_right(reply) else "not_approved"
    if reply.action == "unanswered" or client is None:
        return "unknown"
    return client.decline if reply.action == "decline" else client.cancel


def fresh_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def is_right(reply: Reply) -> bool:
    """Whether exactly the code was typed that this person was shown."""
    given, code = reply.content.get(FIELD), reply.question.expected if reply.question else None
    if not isinstance(given, str) or not given.isascii() or code is None:
        return False
    return secrets.compare_digest(given, code)


def text(executor: Executor, operation: Operation, args: dict[str, Any], code: str) -> str:
    """What the person reads: of the contract, and of the arguments as the server got them."""
    service, note = executor.bundle.air.service, approval_note(operation)
    said = json.dumps(executor.secrets.clean(args), ensure_ascii=False)
    lines = [
        f"{service.title}: this call needs a person.",
        f"Operation: {operation.name}",
        f"Arguments: {said}",
        f"Effect: {note}",
        f"To run it once, type {code} and send. Any other answer refuses.",
    ]
    return "\n".join(escape(line) for line in lines)


def schema(operation: Operation) -> dict[str, Any]:
    field = {"type": "string", "title": "Code", "description": f"Type the code to run {operation.name} once"}
    return {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}


def rows(line: str) -> int:
    """How many rows of a terminal a line takes; a wide character takes two columns."""
    width = sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)
    return max(1, -(-width // COLUMNS))

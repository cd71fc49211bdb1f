"""What a person is asked and shown: bounded, with every character visible, without a secret.

Measured on the real terminals: a message of more than about 15 rows pushes the choices out of sight, a form
without a field is accepted by some clients without asking, and a boolean is preselected as yes. So a form
has one required field, and its first choice is the no.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anvil_runtime.caller import Question
from anvil_runtime.words import approval_note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import Air, Operation
    from anvil_runtime.redaction import Secrets

ROWS, COLUMNS = 15, 76
LONGEST_LINE = 2 * COLUMNS
FIELD = "answer"
NO, YES = "no", "yes"


def escape(text: str) -> str:
    """The text with every control, direction, joining and unassigned character written as its number."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def line_of(text: str, longest: int = LONGEST_LINE) -> str:
    """One line: escaped, and cut where it is too long, with what is missing counted."""
    text = escape(text)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text) - longest} more characters)"


def argument_lines(args: dict[str, Any], secrets: Secrets) -> list[str]:
    """Each argument on a line of its own, as JSON."""
    cleaned = secrets.clean(args)
    return [
        line_of(f"  {name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}")
        for name, value in cleaned.items()
    ]


def message(before: Iterable[str], arguments: list[str], after: Iterable[str]) -> str:
    """All of it in ROWS rows. What does not fit is of the arguments, and is counted, never silent."""
    before, after = [line_of(line) for line in before], [line_of(line) for line in after]
    free = ROWS - sum(map(rows, [*before, *after])) - 1
    shown: list[str] = []
    for line in arguments:
        free -= rows(line)
        if free < 0:
            shown.append(f"  ... and {len(arguments) - len(shown)} more arguments that do not fit here")
            break
        shown.append(line)
    return "\n".join([*before, *shown, *after])


def rows(line: str) -> int:
    """How many rows of a terminal a line takes."""
    return max(1, -(-len(line) // COLUMNS))


def described(air: Air, operation: Operation) -> list[str]:
    """What the operation is, from the contract alone, never in the model's words."""
    return [f"{air.service.title}: {operation.name}", approval_note(operation)]


def confirmation_question(air: Air, operation: Operation, args: dict[str, Any], secrets: Secrets) -> Question:
    """Whether to send one call; ``args`` without Anvil's own."""
    lines = argument_lines(args, secrets)
    before = [*described(air, operation), "Arguments:" if lines else "It has no arguments."]
    choice = {
        "type": "string",
        "title": "Send it?",
        "description": "no: refuse this call. yes: send it once.",
        "enum": [NO, YES],
    }
    schema = {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}
    return Question(message(before, lines, ["Send it once?"]), schema)

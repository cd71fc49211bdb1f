"""What a person does at a dialog, as keys: one word for it, whatever the harness.

`yes` and `no` are the dialog's own (no: Escape), `plain no` its button. `no: WORDS` is no with a reason,
where the harness takes one. `wrong code` answers a form with other letters; `held enter` leaves a finger on
Enter; `typed ahead` are words that were meant for something else, and end on the dialog.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anvil_lab.inside.terminal import Terminal

CODE = re.compile(r"type ([A-Z]{4}) and send")
SETTLE_SECONDS = 0.5
"""A dialog that has just appeared takes no keys yet."""
WORDS_TYPED_AHEAD = "fix 1 bug and 2 more"


def answer_buttons(terminal: Terminal, answer: str) -> None:
    """A dialog with buttons, the first of which is yes, the last one no."""
    if answer == "typed ahead":
        terminal.write(WORDS_TYPED_AHEAD)
        terminal.keys("Enter")
        return
    time.sleep(SETTLE_SECONDS)
    if answer == "yes":
        terminal.keys("Enter")
    elif answer == "no":
        terminal.keys("Escape")
    elif answer == "plain no":
        terminal.keys("Up")  # from the first to the last
        terminal.keys("Enter")
    elif answer.startswith("no: "):
        terminal.keys("Up")
        terminal.keys("Tab")
        terminal.write(answer.removeprefix("no: "))
        time.sleep(SETTLE_SECONDS)
        terminal.keys("Enter")
    else:
        raise ValueError(f"{answer!r} is no answer to buttons")


def answer_code(terminal: Terminal, answer: str, code: str) -> None:
    """A form that wants its own letters back."""
    if answer == "typed ahead":
        terminal.write(WORDS_TYPED_AHEAD)
        terminal.keys("Enter")  # part of what was typed in one go
        time.sleep(SETTLE_SECONDS)
        terminal.keys("Enter")
        return
    time.sleep(SETTLE_SECONDS)
    if answer == "held enter":
        for _ in range(30):
            terminal.keys("Enter")
            time.sleep(0.05)
        terminal.wait(CODE.pattern, 2)  # still there
        terminal.keys("Escape")
    elif answer in ("no", "plain no"):
        terminal.keys("Escape")
    elif answer in ("yes", "wrong code"):
        terminal.write(code if answer == "yes" else code[1:] + code[:1] if len(set(code)) > 1 else "WRNG")
        time.sleep(SETTLE_SECONDS)
        terminal.keys("Enter")
    else:
        raise ValueError(f"{answer!r} is no answer to a code")


def stops(answer: str) -> bool:
    """Whether a harness with buttons ends the turn after it."""
    return answer in ("no", "plain no")

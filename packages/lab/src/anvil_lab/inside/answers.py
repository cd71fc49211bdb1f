"""What a person does at a dialog, as keys: one word for it, whatever the harness.

`yes` and `no` are the dialog's own (no: Escape), `plain no` its button. `no: WORDS` is no with a reason,
where the harness takes one. `wrong code` answers a form with other letters; `held enter` leaves a finger on
Enter, from before the dialog is there; `typed ahead` are words that were meant for something else, and run
into the dialog. `yes to all` stands last, for whatever dialogs come.
"""

from __future__ import annotations

import itertools
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from anvil_lab.inside.terminal import Terminal

CODE = re.compile(r"To run it once, type ([A-Z]{4})\b")
SETTLE_SECONDS = 0.5
"""A field or button that has just been reached takes the next key only then."""
AHEAD_SECONDS = 1.5
NO_FIRST = re.compile("\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} No$", re.MULTILINE)
"""A dialog with two buttons, no before yes."""
WORDS_TYPED_AHEAD = "fix 1 bug and 2 more "
YES_TO_ALL = "yes to all"
_NO_MATTER_WHAT = ("held enter", "typed ahead")


def before(answer: str) -> Callable[[Terminal], None] | None:
    """What the person does already while the dialog is not there: one key after the other."""
    if answer == "held enter":
        return lambda terminal: terminal.keys("Enter")
    if answer == "typed ahead":
        letters = itertools.cycle(WORDS_TYPED_AHEAD)
        return lambda terminal: terminal.write(next(letters))
    return None


def give(terminal: Terminal, answer: str, dialog: str) -> None:
    """Answer a dialog, of either kind."""
    code = CODE.search(dialog)
    if answer in _NO_MATTER_WHAT:
        _go_on(terminal, answer)
    elif code:
        _answer_code(terminal, answer, code[1])
    else:
        _answer_buttons(terminal, answer, no_first=bool(NO_FIRST.search(dialog)))


def _go_on(terminal: Terminal, answer: str) -> None:
    """The keys do not stop when the dialog is there. A form that is still open then is left."""
    press, until = before(answer), time.monotonic() + AHEAD_SECONDS
    while press and time.monotonic() < until:
        press(terminal)
        time.sleep(0.05)
    if answer == "typed ahead":
        terminal.keys("Enter")
        time.sleep(SETTLE_SECONDS)
    if CODE.search(terminal.screen()):
        terminal.keys("Escape")


def _answer_buttons(terminal: Terminal, answer: str, *, no_first: bool) -> None:
    """A dialog with buttons: the first is yes, the last one no, or the other way."""
    from_first_to_last = "Down" if no_first else "Up"  # which does not go round everywhere
    if answer in ("yes", "plain no"):
        if no_first == (answer == "yes"):
            terminal.keys(from_first_to_last)
            time.sleep(SETTLE_SECONDS)
        terminal.keys("Enter")
    elif answer == "no":
        terminal.keys("Escape")
    elif answer.startswith("no: ") and not no_first:
        terminal.keys(from_first_to_last)
        terminal.keys("Tab")
        terminal.write(answer.removeprefix("no: "))
        time.sleep(SETTLE_SECONDS)
        terminal.keys("Enter")
    else:
        raise ValueError(f"{answer!r} is no answer to buttons")


def _answer_code(terminal: Terminal, answer: str, code: str) -> None:
    """A form that wants its own letters back."""
    if answer in ("no", "plain no"):
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

"""What a person does from the first prompt to the model's last words, whatever the harness looks like."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anvil_lab.inside import answers
from anvil_lab.inside.place import PROMPT
from anvil_lab.inside.scripted_messages import LAST_WORDS
from anvil_lab.inside.terminal import NotReadyError, TerminalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anvil_lab.inside.records import Run
    from anvil_lab.inside.terminal import Terminal

PAUSE = 0.5
"""Seconds between what a person does: a prompt that has just appeared takes no keys yet."""
READY_SECONDS, DIALOG_SECONDS = 40, 30


@dataclass(frozen=True)
class Look:
    """How a harness's terminal looks, as patterns. A dialog `begins` with a line and is there with `dialog`.

    `stopped` is what stands there once a person's no has ended the turn, where it does. `aside` is what the
    harness wants read about itself, which Enter leaves, and `first` what it asks at its start, which Escape
    skips: no dialogs about a call.
    """

    ready: str
    begins: str
    dialog: str
    stopped: str | None = None
    aside: str = "(?!)"
    first: str = "(?!)"

    def part(self, screen: str) -> str | None:
        """The dialog's own lines, where there is one: what stands around it moves."""
        if not re.search(self.dialog, screen):
            return None
        lines = screen.rstrip().splitlines()
        starts = [number for number, line in enumerate(lines) if re.search(self.begins, line)]
        return "\n".join(lines[starts[-1] if starts else 0 :])

    def which(self, screen: str) -> str | None:
        """What stays of a dialog while it is answered: its code, or what stands above its buttons."""
        dialog = self.part(screen)
        found = re.search(self.dialog, dialog) if dialog else None
        if dialog is None or found is None:
            return None
        code = answers.CODE.search(dialog)
        return code[1] if code else dialog[: dialog.rfind("\n", 0, found.start()) + 1] + found[0]


def converse(terminal: Terminal, run: Run, look: Look, dialogs: list[str]) -> None:
    """Give the prompt, answer each dialog as the run says, and wait for the end. The dialogs are kept.

    A dialog more than the run has answers for is an error; one less is not waited for. Raises TerminalError.
    """
    _prompt(terminal, look, run.patience)
    end = re.escape(LAST_WORDS)
    for answer in _answers(run.person or []):
        before = answers.before(answer) if answer else None
        shown = _wait(terminal, f"{look.dialog}|{look.aside}|{end}", before)
        if re.search(look.aside, shown):
            time.sleep(2 * PAUSE)
            terminal.keys("Enter")
            shown = _wait(terminal, f"{look.dialog}|{end}", before)
        dialog = look.part(shown)
        if dialog is None:
            return
        if before is None:
            time.sleep(PAUSE)  # the whole of it is drawn
            dialog = look.part(terminal.screen()) or dialog
        dialogs.append(dialog)
        if answer is None:
            raise TerminalError("a dialog that nobody expected")
        answers.give(terminal, answer, dialog)
        terminal.gone(look.which(dialog), look.which)
        if look.stopped and answers.stops(answer):
            end = f"{look.stopped}|{re.escape(LAST_WORDS)}"


def _prompt(terminal: Terminal, look: Look, patience: float) -> None:
    try:
        if re.search(look.first, terminal.wait(f"{look.ready}|{look.first}", READY_SECONDS)):
            time.sleep(2 * PAUSE)
            terminal.keys("Escape")
            terminal.wait(look.ready, READY_SECONDS)
        time.sleep(PAUSE + patience)
        terminal.write(PROMPT)
        terminal.wait(re.escape(PROMPT), 5)
    except TerminalError as error:
        raise NotReadyError(str(error)) from error
    time.sleep(PAUSE)
    terminal.keys("Enter")


def _answers(given: list[str]) -> Iterator[str | None]:
    """The answers in turn, then none; the last one stands for all that follow it where that is said."""
    *first, last = given or [""]
    if last == answers.YES_TO_ALL:
        yield from first
        while True:
            yield "yes"
    yield from given
    while True:
        yield None


def _wait(terminal: Terminal, pattern: str, before: Callable[[Terminal], None] | None) -> str:
    """With keys that are pressed on the way, which end where they may: on the dialog too."""
    meanwhile = None if before is None else lambda: before(terminal)
    return terminal.wait(pattern, DIALOG_SECONDS, meanwhile)

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from anvil_lab.inside import answers, conversation
from anvil_lab.inside.conversation import Look, converse
from anvil_lab.inside.place import PROMPT
from anvil_lab.inside.records import Call, Run
from anvil_lab.inside.scripted_messages import LAST_WORDS
from anvil_lab.inside.terminal import NotReadyError, TerminalError

LOOK = Look(ready="ready", begins="^Tool use", dialog=r"1\. Yes", stopped="Interrupted")
BUTTONS = "chatter\nTool use\na: {}\n1. Yes\n"
FORM = "Tool use\nTo run it once, type ABCD and send.\n1. Yes\n"


class Screen:
    """A terminal that shows one screen after the other, each until a key is pressed."""

    def __init__(self, *screens):
        self.left = ["ready", PROMPT, *screens]
        self.sent = []
        self.dialog = LOOK.dialog

    def screen(self):
        return self.left[0]

    def wait(self, pattern, _seconds=20, meanwhile=None):
        if meanwhile:
            meanwhile()
        shown = self.left[0]
        if not re.search(pattern, shown):
            raise TerminalError(f"{pattern} is not there")
        if not re.search(self.dialog, shown):
            self.left.pop(0)
        return shown

    def gone(self, shown, part):
        assert part(self.left.pop(0)) == shown

    def write(self, words):
        self.sent.append(words)

    def keys(self, *names):
        self.sent += names


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(conversation.time, "sleep", lambda _: None)
    monkeypatch.setattr(answers, "AHEAD_SECONDS", 0)


def talk(screen, *person):
    dialogs = []
    run = Run("claude", "/bundle", [Call(tool="t")], person=list(person))
    converse(screen, run, LOOK, dialogs)
    return dialogs


@pytest.mark.parametrize(
    ("answer", "keys", "end"),
    [
        ("yes", ["Enter"], LAST_WORDS),
        ("no", ["Escape"], "Interrupted"),
        ("plain no", ["Up", "Enter"], "Interrupted"),
        ("no: not now", ["Up", "Tab", "not now", "Enter"], LAST_WORDS),
    ],
)
def test_a_dialog_with_buttons_is_answered_by_keys(answer, keys, end):
    screen = Screen(BUTTONS.format(1), end)
    assert talk(screen, answer) == ["Tool use\na: 1\n1. Yes"]
    assert screen.sent == [PROMPT, "Enter", *keys]


@pytest.mark.parametrize(("answer", "keys"), [("yes", ["Down", "Enter"]), ("plain no", ["Enter"])])
def test_a_dialog_that_has_no_before_yes(answer, keys):
    look = replace(LOOK, dialog=f"(?m:{answers.NO_FIRST.pattern})", aside="Enter to stay")
    mark = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
    screen = Screen("Enter to stay", f"Tool use\n {mark} No\n   Yes\n", LAST_WORDS)
    screen.dialog = look.dialog
    run, dialogs = Run("claude", "/bundle", [Call(tool="t")], person=[answer]), []
    converse(screen, run, look, dialogs)
    assert len(dialogs) == 1
    assert screen.sent == [PROMPT, "Enter", "Enter", *keys]


@pytest.mark.parametrize(
    ("answer", "keys"),
    [("yes", ["ABCD", "Enter"]), ("wrong code", ["BCDA", "Enter"]), ("no", ["Escape"])],
)
def test_a_form_is_answered_by_its_code(answer, keys):
    screen = Screen(FORM, LAST_WORDS)
    talk(screen, answer)
    assert screen.sent == [PROMPT, "Enter", *keys]


@pytest.mark.parametrize(
    ("answer", "keys"),
    [("held enter", ["Enter", "Escape"]), ("typed ahead", ["f", "Enter", "Escape"])],
)
def test_keys_from_before_the_dialog_do_not_stop_there(answer, keys):
    screen = Screen(FORM, LAST_WORDS)
    talk(screen, answer)
    assert screen.sent == [PROMPT, "Enter", *keys]


def test_one_answer_for_each_dialog_and_the_end_may_come_early():
    first, second = BUTTONS.format(1), BUTTONS.format(2)
    assert len(talk(Screen(first, second, LAST_WORDS), "yes", "yes")) == 2
    assert len(talk(Screen(first, LAST_WORDS), "yes", "yes")) == 1
    assert talk(Screen(LAST_WORDS)) == []
    assert len(talk(Screen(first, second, LAST_WORDS), "yes to all")) == 2
    with pytest.raises(TerminalError, match="nobody expected"):
        talk(Screen(first, second, LAST_WORDS), "yes")


def test_a_terminal_that_takes_no_prompt_was_not_ready():
    screen = Screen()
    screen.left = ["starting"]
    with pytest.raises(NotReadyError):
        talk(screen, "yes")
    screen.left = ["ready", "starting"]
    with pytest.raises(NotReadyError):
        talk(screen, "yes")


def test_what_the_harness_asks_at_its_start_is_skipped():
    screen = Screen(LAST_WORDS)
    screen.left.insert(0, "Hooks need review")
    converse(screen, Run("codex", "/bundle", [], person=[]), replace(LOOK, first="Hooks need review"), [])
    assert screen.sent == ["Escape", PROMPT, "Enter"]


def test_no_dialog_and_no_end_is_not_a_matter_of_being_ready():
    with pytest.raises(TerminalError) as caught:
        talk(Screen("working"), "yes")
    assert not isinstance(caught.value, NotReadyError)


def test_a_dialog_is_the_same_while_it_is_answered_and_not_another_one():
    assert LOOK.which("Tool use\na: 1\n> 1. Yes\n") == LOOK.which("Tool use\na: 1\n  1. Yes and words\n")
    assert LOOK.which("Tool use\na: 1\n1. Yes\n") != LOOK.which("Tool use\na: 2\n1. Yes\n")
    assert LOOK.which(FORM) == LOOK.which(FORM.replace("send.", "send.\nABCD")) == "ABCD"
    assert LOOK.which(FORM) != LOOK.which(FORM.replace("ABCD", "BCDE"))
    assert LOOK.which("chatter") is None


def test_an_answer_that_does_not_fit_is_said():
    with pytest.raises(ValueError, match="no answer to buttons"):
        talk(Screen(BUTTONS.format(1)), "wrong code")
    with pytest.raises(ValueError, match="no answer to a code"):
        talk(Screen(FORM), "no: not now")

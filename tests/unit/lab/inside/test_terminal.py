from __future__ import annotations

import pytest

from anvil_lab.inside.terminal import Terminal, TerminalError

TMUX = """#!/bin/sh
echo "$@" >> "$0.log"
case "$*" in *capture-pane*) cat "$0.screen" ;; esac
"""


@pytest.fixture
def tmux(tmp_path, monkeypatch):
    program = tmp_path / "tmux"
    program.write_text(TMUX)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return program


def test_the_program_gets_the_given_environment_and_keys(tmux, tmp_path):
    screen = tmux.with_name("tmux.screen")
    screen.write_text("Do you want to proceed?\n")
    with Terminal(["tool", "a b"], {"HOME": "/h"}, tmp_path, size=(80, 24)) as terminal:
        assert "proceed" in terminal.wait(r"Do you want")
        terminal.write("words")
        terminal.keys("Down", "Enter")
        assert terminal.screens == ["Do you want to proceed?\n"]
    log = tmux.with_name("tmux.log").read_text()
    assert "-x 80 -y 24" in log
    assert "env -i HOME=/h tool 'a b'" in log
    assert "send-keys -t lab -l words" in log
    assert "send-keys -t lab Down Enter" in log
    assert log.splitlines()[-1].endswith("kill-server")


@pytest.mark.parametrize(("shown", "seconds"), [("something else\n", 0.2), ("gone\nEXIT=1\n", 60)])
def test_a_screen_that_does_not_come_is_an_error_with_what_was_there(shown, seconds, tmux, tmp_path):
    tmux.with_name("tmux.screen").write_text(shown)
    with Terminal(["tool"], {}, tmp_path) as terminal:
        with pytest.raises(TerminalError, match="did not show"):
            terminal.wait("never", seconds)
        assert terminal.screens == [shown]


def test_without_tmux_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TerminalError, match="has no tmux"):
        Terminal(["tool"], {}, tmp_path)

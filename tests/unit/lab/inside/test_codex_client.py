from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from anvil_lab.inside import codex_client

# Asks twice during the turn, and gives the answers back in an error, which the client tells of.
SERVER = """\
#!{python}
import json, sys
def say(**line): print(json.dumps(line), flush=True)
def hear(): return json.loads(sys.stdin.readline())
heard = [hear()]; say(id=heard[0]["id"], result={{}})
hear()
thread = hear(); say(id=thread["id"], result={{"thread": {{"id": "T"}}}})
turn = hear(); say(method="note")
say(id=7, method="mcpServer/elicitation/request", params={{"serverName": "a"}})
answers = [hear()]
say(id=8, method="{second}", params={{"command": "ls"}})
answers.append(hear())
say(id=turn["id"], result={{}})
say(method="error", params={{"answers": answers, "thread": thread["params"], "turn": turn["params"]}})
{end}
"""
DONE = 'say(method="turn/completed")'


def talk(folder, word, *, second="item/commandExecution/requestApproval", end=DONE):
    program = folder / "codex"
    program.write_text(SERVER.format(python=sys.executable, second=second, end=end))
    program.chmod(0o755)
    command = [sys.executable, codex_client.__file__, word, "on-request", "read-only", "go"]
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, cwd=folder, timeout=30
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("word", "call", "shell"),
    [
        ("accept", {"action": "accept", "content": {}}, "accept"),
        ("decline", {"action": "decline", "content": None}, "decline"),
        (
            "accept-for-session",
            {"action": "accept", "content": {}, "_meta": {"persist": "session"}},
            "acceptForSession",
        ),
    ],
)
def test_each_question_is_told_and_answered_with_the_word(tmp_path, word, call, shell):
    code, (first, second, told) = talk(tmp_path, word)
    assert (code, first["type"], second["type"]) == (0, "asked", "asked")
    assert (first["params"], second["params"]) == ({"serverName": "a"}, {"command": "ls"})
    said = json.loads(told["message"])
    assert said["answers"] == [{"id": 7, "result": call}, {"id": 8, "result": {"decision": shell}}]
    assert said["thread"] == {"cwd": str(tmp_path), "approvalPolicy": "on-request", "sandbox": "read-only"}
    assert said["turn"]["threadId"] == "T"


def test_a_question_of_another_kind_is_not_answered(tmp_path):
    _, (_, second, told) = talk(tmp_path, "accept", second="other/question")
    assert second["method"] == "other/question"
    assert json.loads(told["message"])["answers"][1]["error"]["code"] == -32601


def test_a_server_that_ends_early_is_an_error(tmp_path):
    code, lines = talk(tmp_path, "accept", end="")
    assert code == 1
    assert lines[-1] == {"type": "error", "message": "RuntimeError: the app-server ended"}

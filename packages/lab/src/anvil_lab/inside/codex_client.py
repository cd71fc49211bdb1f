"""A program that shows Codex's sessions, as an editor does, and answers every question alike.

    python3 codex_client.py accept|accept-for-session|decline POLICY SANDBOX PROMPT

It speaks to `codex app-server`, makes one turn of the prompt and ends with it. Each line of its output is a
JSON object: `{"type": "asked", "method", "params"}` for a question, `{"type": "error", "message"}` for what
went wrong. It is started by its path and imports nothing of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
# The answer to a question of each kind, in the words of this program.
ANSWERS: dict[str, dict[str, Json]] = {
    "mcpServer/elicitation/request": {
        "accept": {"action": "accept", "content": {}},
        "accept-for-session": {"action": "accept", "content": {}, "_meta": {"persist": "session"}},
        "decline": {"action": "decline", "content": None},
    },
    "item/commandExecution/requestApproval": {
        "accept": {"decision": "accept"},
        "accept-for-session": {"decision": "acceptForSession"},
        "decline": {"decision": "decline"},
    },
}


class Peer:
    """The app-server: one message a line, both ways."""

    def __init__(self, process: subprocess.Popen[str], word: str) -> None:
        self.process = process
        self.word = word
        self.number = 0

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Json) -> Json:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.next()
            if message.get("id") == self.number:
                if "result" not in message:
                    raise RuntimeError(f"{method}: {message.get('error')}")
                return dict(message["result"])

    def next(self) -> Json:
        """The next message that is no question; questions are answered on the way."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message: Json = json.loads(line)
            if "method" not in message or "id" not in message:
                return message
            self.answer(message)
        raise RuntimeError("the app-server ended")

    def answer(self, question: Json) -> None:
        method = question["method"]
        say({"type": "asked", "method": method, "params": question.get("params")})
        if method in ANSWERS:
            self.send({"id": question["id"], "result": ANSWERS[method][self.word]})
        else:
            self.send({"id": question["id"], "error": {"code": -32601, "message": "not answered here"}})


def say(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def converse(peer: Peer, policy: str, sandbox: str, prompt: str) -> None:
    client = {"name": "lab", "title": None, "version": "0"}
    peer.ask("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
    peer.send({"method": "initialized"})
    settings = {"cwd": str(Path.cwd()), "approvalPolicy": policy, "sandbox": sandbox}
    thread = peer.ask("thread/start", settings)["thread"]["id"]
    peer.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": prompt}]})
    while True:
        message = peer.next()
        if message.get("method") == "error":
            say({"type": "error", "message": json.dumps(message.get("params"))})
        if message.get("method") == "turn/completed":
            return


def main(word: str, policy: str, sandbox: str, prompt: str) -> int:
    with subprocess.Popen(
        ["codex", "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            converse(Peer(process, word), policy, sandbox, prompt)
        except (RuntimeError, KeyError, ValueError, OSError) as error:
            say({"type": "error", "message": f"{type(error).__name__}: {error}"})
            return 1
        finally:
            process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))

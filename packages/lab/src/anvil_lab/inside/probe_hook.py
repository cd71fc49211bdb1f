"""The hook of a probe: logs what it was given, then does what `acts.json` beside it says for its name.

    python3 -I -S -B hook.py NAME

An act is `{"prints": text or object, "stderr": text, "exit": n, "signal": n, "sleeps": seconds}`, all of it
optional. It is copied into the probe's plugin and imports nothing of this package.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOG = "hook.log"


def log(name: str, given: str) -> None:
    """One write per line: hooks run beside each other."""
    try:
        stdin: Any = json.loads(given)
    except ValueError:
        stdin = given
    line = json.dumps({"name": name, "stdin": stdin, "env": dict(os.environ)}) + "\n"
    with (HERE / LOG).open("ab", buffering=0) as file:
        file.write(line.encode())


def main(name: str) -> int:
    log(name, sys.stdin.read())
    act: dict[str, Any] = json.loads((HERE / "acts.json").read_text(encoding="utf-8")).get(name, {})
    time.sleep(act.get("sleeps", 0))
    sys.stderr.write(act.get("stderr", ""))
    prints = act.get("prints", "")
    compact = (",", ":")  # as our own hook prints
    sys.stdout.write(prints if isinstance(prints, str) else json.dumps(prints, separators=compact))
    sys.stdout.flush()
    if "signal" in act:
        os.kill(os.getpid(), act["signal"])
    return int(act.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

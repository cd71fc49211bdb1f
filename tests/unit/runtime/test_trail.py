"""What the trail says of each call, that a mutation needs it, and that nobody's line is lost in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import hookcore
from anvil_runtime import trail
from anvil_runtime.caller import Caller
from anvil_runtime.client import Answer, BrokenError, NotSentError, TimedOutError
from anvil_runtime.execute import execute
from anvil_runtime.state import StateFolder

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["call_id", "code", "digest", "ms", "source", "status", "time", "tool", "trace_id", "verb"]
LINE = {
    "time": "2026-12-01T08:30:00.123Z", "source": "server", "trace_id": "00", "call_id": None, "tool": "x",
    "verb": "sent", "code": None, "digest": None, "status": 200, "ms": 1,
}  # fmt: skip


@pytest.fixture
def state(tmp_path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def recorded(executor, state):
    """A function: an executor whose trail is in ``state``."""

    def make(*args, **changes):
        return replace(executor(*args, **changes), state=StateFolder(str(state)))

    return make


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / trail.FILE).read_text("ascii").splitlines()]


def said(folder: Path) -> list[tuple]:
    return [(line["verb"], line["code"], line["status"]) for line in lines(folder)]


def test_a_mutation_is_announced_before_it_is_sent(recorded, upstream, state, full):
    seen = []
    executor = recorded()

    def send(plan, origin):
        seen.extend(said(state))
        return upstream.send(plan, origin)

    caller = Caller("mcp", call_id="toolu_1")
    execute(replace(executor, send=send), "refund_create", full, caller)
    assert seen == [("sending", None, None)]
    assert said(state) == [("sending", None, None), ("sent", None, 200)]
    before, after = lines(state)
    assert list(after) == KEYS
    for line in (before, after):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert re.fullmatch(r"[0-9a-f]{16}", line["trace_id"])
        assert (line["source"], line["call_id"], line["tool"]) == ("server", "toolu_1", "refund_create")
        assert line["digest"] == hookcore.digest("refund_create", full)
        assert isinstance(line["ms"], int)
    assert before["trace_id"] == after["trace_id"]


FITS = {"charge": "ch_1", "body": {"amount": 5}}
ANNOUNCED = ("sending", None, None)


@pytest.mark.parametrize(
    ("name", "extra", "answer", "expected"),
    [
        ("charge_get", {}, None, [("sent", None, 200)]),
        ("nope", {}, None, [("refused", "unknown_operation", None)]),
        ("refund_create", {"confirm": False}, None, [("refused", "confirmation_required", None)]),
        ("refund_create", {"dry_run": True}, None, [("planned", None, None)]),
        ("refund_create", {}, Answer(409, "", "", b""), [ANNOUNCED, ("failed", "upstream_error", 409)]),
        ("refund_create", {}, NotSentError("x"), [ANNOUNCED, ("failed", "upstream_error", None)]),
        ("refund_create", {}, BrokenError("x"), [ANNOUNCED, ("failed", "upstream_error", None)]),
        ("refund_create", {}, TimedOutError("x"), [ANNOUNCED, ("failed", "upstream_timeout", None)]),
    ],
)
def test_what_it_says_of_each_outcome(recorded, upstream, state, full, name, extra, answer, expected):
    upstream.answer = answer or upstream.answer
    args = {"charge": "ch_1"} if name == "charge_get" else {**full, **extra}
    outcome = execute(recorded(), name, args)
    assert said(state) == expected
    if outcome.refusal:
        assert {line["trace_id"] for line in lines(state)} == {outcome.envelope["error"]["trace_id"]}
    assert {line["source"] for line in lines(state)} == {"command line"}


def test_the_preview_tool_is_recorded_under_its_own_name(recorded, state, full):
    execute(recorded(), "preview", {"operation": "payout_create", "arguments": FITS})
    assert said(state) == [("planned", None, None)]
    assert lines(state)[0]["tool"] == "preview"


def test_no_argument_and_no_answer_is_in_it(recorded, upstream, state, full):
    canary = "CANARY-4711"
    full["charge"], full["body"] = canary, {"amount": 5, "note": canary}
    full["idempotency_key"] = canary
    upstream.answer = Answer(500, canary, "application/json", json.dumps({"id": canary}).encode())
    execute(recorded(), "refund_create", full)
    execute(recorded(), "refund_create", {**full, "confirm": canary})
    execute(recorded(), "refund_create", {**full, canary: 1})
    assert len(lines(state)) == 4
    assert canary not in (state / trail.FILE).read_text("ascii")


def test_no_secret_is_in_it(recorded, state):
    executor = recorded()
    executor.secrets.add("SECRET-4711")
    execute(executor, "SECRET-4711", {}, Caller("mcp", call_id="SECRET-4711"))
    (line,) = lines(state)
    assert line["tool"] == line["call_id"] == "[redacted]"


def test_who_comes_second_does_not_rotate(state, monkeypatch):
    """Both found the file too large; by the time the second has the lock, it is a new one."""
    trail.append(state, LINE)
    trail.rotate(state)
    assert [path.name for path in state.iterdir()] == [trail.FILE]


@pytest.mark.parametrize("args", [{"charge": float("nan")}, {"charge": "\ud800"}, [1]])
def test_arguments_without_a_digest(recorded, state, args):
    execute(recorded(), "charge_get", args)
    (line,) = lines(state)
    assert (line["verb"], line["digest"]) == ("refused", None if args != [1] else line["digest"])


def test_text_from_outside_is_cut(recorded, state):
    long = "\N{PILE OF POO}\x1b[2J\n" * 1000
    execute(recorded(), long, {}, Caller("mcp", call_id=long))
    (line,) = lines(state)
    assert len(line["tool"]) == len(line["call_id"]) == trail.LONGEST_NAME
    assert (state / trail.FILE).stat().st_size < trail.LARGEST_LINE


def wrong_folder(state: Path) -> None:
    state.chmod(0o755)


def a_link(state: Path) -> None:
    (state.parent / "target").touch()
    (state / trail.FILE).symlink_to(state.parent / "target")


def a_folder(state: Path) -> None:
    (state / trail.FILE).mkdir()


def a_fifo(state: Path) -> None:
    os.mkfifo(state / trail.FILE)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("spoil", [wrong_folder, a_link, a_folder, a_fifo])
def test_without_a_trail_reads_go_on_and_mutations_do_not(recorded, upstream, state, full, capsys, spoil):
    spoil(state)
    assert execute(recorded(), "charge_get", {"charge": "ch_1"}).refusal is None
    assert len(upstream.plans) == 1
    assert "no line of charge_get" in capsys.readouterr().err
    outcome = execute(recorded(), "refund_create", full)
    assert len(upstream.plans) == 1
    error = outcome.envelope["error"]
    assert (error["code"], error["retryable"], error["safe_to_retry"]) == ("state_unwritable", False, True)
    assert str(state) in error["message"]
    assert execute(recorded(), "refund_create", {**full, "dry_run": True}).refusal is None
    if (state.parent / "target").exists():
        assert (state.parent / "target").read_bytes() == b""


def test_where_the_manifest_says_so_a_mutation_goes_on(recorded, upstream, state, full, capsys):
    wrong_folder(state)
    del full["idempotency_key"]  # a key needs the ledger, which is in the same folder
    one = recorded(
        "refund_create",
        service={"trail": "best_effort"},
        idempotency={"mode": "none"},
        controls={"confirm": "confirm"},
    )
    outcome = execute(one, "refund_create", full)
    assert outcome.refusal is None
    assert len(upstream.plans) == 1


def test_a_full_disk(recorded, upstream, state, full, monkeypatch):
    def full_disk(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hookcore, "put", full_disk)
    outcome = execute(recorded(), "refund_create", full)
    assert outcome.refusal.code == "state_unwritable"
    assert "No space left" in outcome.refusal.message
    assert upstream.plans == []


def test_a_trail_that_fails_after_the_answer_loses_nothing(recorded, upstream, state, full, capsys):
    executor = recorded()

    def send(plan, origin):
        state.chmod(0o755)
        return upstream.send(plan, origin)

    outcome = execute(replace(executor, send=send), "refund_create", full)
    assert outcome.envelope == {"data": {"id": "re_1"}}
    assert "no line of refund_create" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "code"), [("refund_create", "outcome_unknown"), ("charge_get", None)])
def test_a_call_that_is_given_up(recorded, state, full, name, code):
    def send(_plan, _origin):
        raise KeyboardInterrupt

    args = full if name == "refund_create" else {"charge": "ch_1"}
    with pytest.raises(KeyboardInterrupt):
        execute(replace(recorded(), send=send), name, args)
    assert said(state)[-1] == ("failed", code, None)


def test_the_file_is_its_owners_alone(state):
    trail.append(state, LINE)
    assert (state / trail.FILE).stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_too_long_is_refused(state):
    with pytest.raises(OSError, match="would have"):
        trail.append(state, {**LINE, "tool": "x" * trail.LARGEST_LINE})
    assert not (state / trail.FILE).exists()


def test_rotation_keeps_some_old_files_in_order(state, monkeypatch):
    monkeypatch.setattr(trail, "LARGEST_FILE", 400)
    for number in range(40):
        trail.append(state, {**LINE, "ms": number})
    found = [path for path in trail.files(state) if path.exists()]
    assert len(found) == trail.KEPT + 1
    numbers = [
        json.loads(line)["ms"] for path in reversed(found) for line in path.read_text("ascii").splitlines()
    ]
    assert numbers == list(range(40 - len(numbers), 40))
    assert sorted(path.name for path in state.iterdir()) == sorted(path.name for path in found)


APPENDER = """
import sys, threading
from pathlib import Path
from anvil_runtime import trail
trail.LARGEST_FILE, trail.KEPT = 60_000, 30
folder, name, count, line = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), {line!r}
def work(thread):
    for number in range(count):
        trail.append(folder, {{**line, "tool": f"{{name}}-{{thread}}-{{number}}"}})
threads = [threading.Thread(target=work, args=(thread,)) for thread in range(2)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
"""


def test_appenders_and_rotation_at_the_same_time_lose_no_line(state, monkeypatch):
    """Three processes of two threads that rotate, and one that only appends, as a hook does."""
    program, count = APPENDER.format(line=LINE), 300
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(state), str(name), str(count)])
        for name in range(3)
    ]

    def hook():
        for number in range(count):
            text = hookcore.dumps({**LINE, "tool": f"hook-0-{number}"}) + "\n"
            hookcore.put(str(state / trail.FILE), text, append=True)

    thread = threading.Thread(target=hook)
    thread.start()
    thread.join()
    assert [process.wait(60) for process in running] == [0, 0, 0]
    monkeypatch.setattr(trail, "KEPT", 30)
    found = [path for path in trail.files(state) if path.exists()]
    tools = {json.loads(line)["tool"] for path in found for line in path.read_text("ascii").splitlines()}
    assert len(found) > 3, "nothing was rotated"
    assert tools == {
        *(f"{name}-{thread}-{number}" for name in range(3) for thread in range(2) for number in range(count)),
        *(f"hook-0-{number}" for number in range(count)),
    }

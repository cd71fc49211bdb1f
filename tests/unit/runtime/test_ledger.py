"""The idempotency ledger: one request for one key, whoever asks and however often."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from anvil_runtime import ledger as module
from anvil_runtime import sending
from anvil_runtime.client import Answer, BrokenError, NotSentError, TimedOutError
from anvil_runtime.execute import execute
from anvil_runtime.ledger import (
    FILE_NAME,
    KEPT_SECONDS,
    Found,
    Ledger,
    LedgerError,
    Slot,
    is_alive,
    this_process,
)
from anvil_runtime.state import StateFolder

SLOT = Slot("shop", "https://api.shop.example", "none", "shop.refunds.create", "order-4711")
CREATED = Answer(201, "Created", "application/json", b'{"id": "re_1"}')


@pytest.fixture
def state(tmp_path) -> StateFolder:
    return StateFolder(str(tmp_path / "kept"))


@pytest.fixture
def book(state) -> Ledger:
    return Ledger(state)


def rows(state) -> list[tuple]:
    with sqlite3.connect(state.ready() / FILE_NAME) as file:
        return file.execute("SELECT * FROM calls").fetchall()


# The ledger itself


def test_a_key_is_taken_once(book):
    assert book.reserve(SLOT, "a", 0) == Found("reserved")
    assert book.reserve(SLOT, "a", 0) == Found("in_progress")
    book.settle(SLOT, "answered", {"data": 1})
    assert book.reserve(SLOT, "a", 0) == Found("answered", {"data": 1})


@pytest.mark.parametrize("state_of_it", ["reserved", "answered", "open"])
def test_another_request_under_it_is_a_conflict(book, state_of_it):
    book.reserve(SLOT, "a", 0)
    if state_of_it != "reserved":
        book.settle(SLOT, state_of_it, {"data": 1})
    assert book.reserve(SLOT, "b", 0) == Found("conflict")


@pytest.mark.parametrize("part", ["service", "origin", "credential", "operation", "key"])
def test_the_same_key_elsewhere_is_another(book, part):
    book.reserve(SLOT, "a", 0)
    other = Slot(**{**SLOT.__dict__, part: "other"})
    assert book.reserve(other, "b", 0) == Found("reserved")


def test_an_open_one_may_be_sent_again(book):
    book.reserve(SLOT, "a", 0)
    book.settle(SLOT, "open", None)
    assert book.reserve(SLOT, "a", 0) == Found("reserved", again=True)
    assert book.reserve(SLOT, "a", 0) == Found("in_progress")


@pytest.mark.parametrize("left", ["open", "answered"])
def test_one_that_was_open_says_so_until_it_is_answered(book, left):
    assert not book.reserve(SLOT, "a", 0).again
    book.settle(SLOT, "open", None)
    assert book.reserve(SLOT, "a", 0).again
    book.settle(SLOT, left, {"data": 1})
    assert book.reserve(SLOT, "a", 0).again == (left == "open")


def test_a_look_that_changes_nothing_writes_nothing(book, state):
    """Whoever waits looks twenty times a second, and must not keep the one that sends from settling."""
    book.reserve(SLOT, "a", 0)
    before = (state.ready() / FILE_NAME).read_bytes()
    for request in ("a", "b"):
        book.reserve(SLOT, request, 0)
    assert (state.ready() / FILE_NAME).read_bytes() == before


def test_a_free_one_is_new(book):
    book.reserve(SLOT, "a", 0)
    book.free(SLOT)
    assert book.reserve(SLOT, "b", 0) == Found("reserved")


def test_the_answer_of_another_is_waited_for(state):
    other = Ledger(state)
    other.reserve(SLOT, "a", 0)
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            other.settle(SLOT, "answered", {"data": 7})

    assert Ledger(state, sleep=sleep).reserve(SLOT, "a", 60) == Found("answered", {"data": 7})
    assert len(waits) == 3


def test_it_is_kept_a_month_and_no_longer(state):
    now = [1_000_000.0]
    book = Ledger(state, clock=lambda: now[0])
    book.reserve(SLOT, "a", 0)
    book.settle(SLOT, "answered", {"data": 1})
    now[0] += KEPT_SECONDS - 1
    assert book.reserve(SLOT, "a", 0).state == "answered"
    now[0] += 2
    assert book.reserve(SLOT, "b", 0) == Found("reserved")


def test_a_large_answer_is_not_kept_whole(book, state):
    book.reserve(SLOT, "a", 0)
    book.settle(SLOT, "answered", {"data": "x" * module.LARGEST_ANSWER})
    answer = book.reserve(SLOT, "a", 0).answer
    assert "too large to be kept" in answer["violations"][0]
    assert os.stat(state.ready() / FILE_NAME).st_size < module.LARGEST_ANSWER  # noqa: PTH116


def test_the_file_is_the_users_alone(book, state):
    before = os.umask(0)
    try:
        book.reserve(SLOT, "a", 0)
    finally:
        os.umask(before)
    assert (state.ready() / FILE_NAME).stat().st_mode & 0o777 == 0o600


def wrong_mode(file: Path) -> None:
    file.touch(0o600)
    file.chmod(0o644)


def link(file: Path) -> None:
    target = file.with_name("elsewhere")
    target.touch()
    file.symlink_to(target)


def newer(file: Path) -> None:
    file.touch(0o600)
    with sqlite3.connect(file) as made:
        made.execute(module._MAKE)
        made.execute("PRAGMA user_version = 7")


def no_database(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to be read as one" * 40)
    file.chmod(0o600)


@pytest.mark.parametrize("harm", [wrong_mode, link, newer, no_database])
def test_a_ledger_that_cannot_be_trusted_is_left_as_it_is(book, state, harm):
    file = state.ready() / FILE_NAME
    harm(file)
    before = file.read_bytes()
    with pytest.raises(LedgerError):
        book.reserve(SLOT, "a", 0)
    assert file.read_bytes() == before


def test_a_process_is_alive_until_it_ends():
    assert is_alive(this_process())
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = module._started(child.pid)
    assert is_alive(f"{child.pid}:{started}")
    assert not is_alive(f"{child.pid}:{int(started) + 1}"), "its number is used again"
    child.communicate(b"\n")
    assert not is_alive(f"{child.pid}:{started}")
    assert not is_alive("")


# Calls


@pytest.fixture
def shop(executor):
    """A function: an executor that sends three times at most, without waiting."""
    from dataclasses import replace

    from anvil_runtime.retries import Pace

    def make(*args, **changes):
        return replace(executor(*args, **changes), pace=Pace(sleep=lambda _seconds: None))

    return make


def test_a_repeated_call_gets_the_first_answer(shop, upstream, full):
    first = execute(shop(), "refund_create", full).envelope
    upstream.answer = Answer(500, "Error", "text/plain", b"")
    assert execute(shop(), "refund_create", full).envelope == {**first, "replayed": True}
    assert len(upstream.plans) == 1


def test_the_gates_are_asked_again_before_a_replay(shop, upstream, full):
    execute(shop(), "refund_create", full)
    assert (
        execute(shop(), "refund_create", {**full, "confirm": False}).refusal.code == "confirmation_required"
    )
    state = shop("refund_create", state="blocked")
    assert execute(state, "refund_create", full).refusal.code == "operation_not_approved"


def test_another_body_under_the_key(shop, upstream, full):
    execute(shop(), "refund_create", full)
    other = {**full, "body": {"amount": 6}}
    assert execute(shop(), "refund_create", other).refusal.code == "idempotency_conflict"
    assert len(upstream.plans) == 1


FREE, OPEN = "another body may use it", "the same call may be sent again"
AFTER = {
    "refused 400": (Answer(400, "", "", b""), FREE),
    "refused 401": (Answer(401, "", "", b""), FREE),
    "refused 404": (Answer(404, "", "", b""), FREE),
    "refused 422": (Answer(422, "", "", b""), FREE),
    "slow down 429": (Answer(429, "", "", b""), FREE),
    "not sent": (NotSentError("no connection"), FREE),
    "unclear 499": (Answer(499, "", "", b""), OPEN),
    "timeout 408": (Answer(408, "", "", b""), OPEN),
    "conflict 409": (Answer(409, "", "", b""), OPEN),
    "redirect 302": (Answer(302, "", "", b""), OPEN),
    "error 500": (Answer(500, "", "", b""), OPEN),
    "error 503": (Answer(503, "", "", b""), OPEN),
    "timed out": (TimedOutError("too slow"), OPEN),
    "broken": (BrokenError("reset"), OPEN),
    "a fault of ours": (ZeroDivisionError(), OPEN),
}


@pytest.mark.parametrize("name", AFTER)
def test_what_becomes_of_the_key(shop, upstream, full, name):
    upstream.answer, left = AFTER[name]
    assert execute(shop(), "refund_create", full).refusal
    sent = len(upstream.plans)
    upstream.answer = CREATED
    other = execute(shop(), "refund_create", {**full, "body": {"amount": 6}})
    assert (other.refusal is None) == (left == FREE)
    if left == OPEN:
        assert other.refusal.code == "idempotency_conflict"
        assert execute(shop(), "refund_create", full).envelope == {"data": {"id": "re_1"}}
    assert len(upstream.plans) == sent + 1


MAYBE = {name: end for name, (end, left) in AFTER.items() if left == OPEN}
NOTHING = {name: end for name, (end, left) in AFTER.items() if left == FREE}


@pytest.mark.parametrize("second", NOTHING)
@pytest.mark.parametrize("first", ["timed out", "error 503"])
def test_a_key_that_may_have_done_something_is_not_freed_by_a_later_call(shop, upstream, full, first, second):
    for end in (MAYBE[first], NOTHING[second]):
        upstream.answer = end
        assert execute(shop(), "refund_create", full).refusal
    sent = len(upstream.plans)
    upstream.answer = CREATED
    other = execute(shop(), "refund_create", {**full, "body": {"amount": 6}})
    assert (other.refusal.code, len(upstream.plans)) == ("idempotency_conflict", sent)
    assert execute(shop(), "refund_create", full).envelope == {"data": {"id": "re_1"}}
    assert len(upstream.plans) == sent + 1


def test_a_replay_tells_that_the_file_of_its_answer_is_gone(shop, upstream, full, tmp_path):
    from anvil_runtime.spill import Spilled

    file = tmp_path / "answer"
    file.write_bytes(b"{}")
    upstream.answer = Answer(200, "OK", "application/json", b"{}", spilled=Spilled(str(file), 2, "0" * 64))
    first = execute(shop(), "refund_create", full).envelope
    assert execute(shop(), "refund_create", full).envelope == {**first, "replayed": True}
    file.unlink()
    again = execute(shop(), "refund_create", full).envelope
    assert (again["replayed"], "file" in again) == (True, False)
    assert "no longer there" in again["violations"][-1]
    assert len(upstream.plans) == 1


def test_a_call_that_still_runs_is_told_from_one_that_died(shop, upstream, full, monkeypatch):
    monkeypatch.setattr(sending, "WAIT_SECONDS", 0)
    found = {"in_progress": ("still sends", True), "unknown": ("ended before", False)}
    for state, (said, again) in found.items():
        monkeypatch.setattr(Ledger, "reserve", lambda *_, state=state: Found(state))
        refusal = execute(shop(), "refund_create", full).refusal
        assert (refusal.code, refusal.retryable, refusal.safe_to_retry) == ("outcome_unknown", again, again)
        assert said in refusal.message
    assert upstream.plans == []


def test_a_call_that_waits_for_another_one_ends_when_it_is_given_up(shop, upstream, full):
    def given_up(_seconds):
        raise KeyboardInterrupt

    one = shop()
    object.__setattr__(one, "pace", type(one.pace)(sleep=given_up))
    execute(shop(), "refund_create", full)
    with sqlite3.connect(one.folder.ready() / FILE_NAME) as file:
        file.execute("UPDATE calls SET state = 'reserved'")
    with pytest.raises(KeyboardInterrupt):
        execute(one, "refund_create", full)
    assert len(upstream.plans) == 1


def test_a_call_that_was_cancelled_may_be_sent_again(shop, upstream, full):
    one = shop()

    def cancelled(_plan, _origin):
        raise KeyboardInterrupt

    object.__setattr__(one, "send", cancelled)
    with pytest.raises(KeyboardInterrupt):
        execute(one, "refund_create", full)
    other = execute(shop(), "refund_create", {**full, "body": {"amount": 6}})
    assert (other.refusal.code, upstream.plans) == ("idempotency_conflict", [])
    assert execute(shop(), "refund_create", full).envelope == {"data": {"id": "re_1"}}


def test_a_mutation_that_needs_the_ledger_is_refused_without_it(shop, upstream, full, own_state):
    folder = Path(shop().folder.name)
    shop().folder.ready()
    (folder / FILE_NAME).mkdir()
    refusal = execute(shop(), "refund_create", full).refusal
    assert refusal.code == "state_unwritable"
    assert "charge_get" not in refusal.message
    assert execute(shop(), "charge_get", {"charge": "ch_1"}).refusal is None
    assert len(upstream.plans) == 1


@pytest.mark.parametrize("where", ["reserve", "settle"])
def test_what_cannot_be_written_down_afterwards_is_not_sent_again(
    shop, upstream, full, monkeypatch, where, capsys
):
    def fails(*_):
        raise LedgerError("no space")

    monkeypatch.setattr(Ledger, where, fails)
    outcome = execute(shop(), "refund_create", full)
    assert (outcome.refusal is None, len(upstream.plans)) == (where == "settle", int(where == "settle"))
    monkeypatch.undo()
    if where == "settle":
        monkeypatch.setattr(sending, "WAIT_SECONDS", 0)
        assert execute(shop(), "refund_create", full).refusal.code == "outcome_unknown"
        assert len(upstream.plans) == 1


# Processes

WORKER = """
import json, sys
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from anvil_runtime.bundle import load
from anvil_runtime.execute import Executor, execute
from anvil_runtime.state import StateFolder
folder, state, url, args, many = sys.argv[1:]
one = Executor(load(Path(folder)), environ={"ANVIL_BASE_URL": url}, state=StateFolder(state))
args = json.loads(args)
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(int(many)) as pool:
    for outcome in pool.map(lambda _: execute(one, "refund_create", args), range(int(many))):
        print(json.dumps(outcome.envelope), flush=True)
"""


class SlowApi:
    """Answers each POST after a while, and counts them."""

    def __init__(self, seconds: float) -> None:
        self.count, self.came = 0, threading.Event()
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                api.count += 1
                api.came.set()
                time.sleep(seconds)
                self.send_response(201)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b'{"id": "re_1"}')

            def log_message(self, *_): ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def start(bundle_folder, state, url, full, many) -> subprocess.Popen:
    command = [sys.executable, "-c", WORKER, str(bundle_folder), state.name, url, json.dumps(full), str(many)]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout.readline() == "ready\n"
    return made


def test_64_calls_from_four_processes_are_one_request(bundle_folder, state, full):
    with SlowApi(0.3) as api:
        workers = [start(bundle_folder, state, api.url, full, 16) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda worker: worker.communicate("go\n", timeout=120)[0], workers))
    answers = [json.loads(line) for lines in said for line in lines.splitlines()]
    assert api.count == 1
    assert len(answers) == 64
    replayed = [answer.pop("replayed", False) for answer in answers]
    assert [answer for answer in answers if answer != {"data": {"id": "re_1"}}] == []
    assert sorted(replayed) == [False] + [True] * 63


def test_a_process_that_dies_between_reserve_and_answer(bundle_folder, state, full):
    with SlowApi(30) as api:
        worker = start(bundle_folder, state, api.url, full, 1)
        worker.stdin.write("go\n")
        worker.stdin.flush()
        assert api.came.wait(20)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        second = start(bundle_folder, state, api.url, full, 1)
        said, _ = second.communicate("go\n", timeout=60)
        error = json.loads(said)["error"]
        assert (error["code"], error["retryable"], error["safe_to_retry"]) == (
            "outcome_unknown",
            False,
            False,
        )
        assert api.count == 1, "it was sent again without a word"

"""Records of the hook: read once, by one, only where nothing about them is odd."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import hookcore
from anvil_runtime import approvals
from anvil_runtime.approvals import RecordError, burn, check, is_own, sweep

pytestmark = pytest.mark.invariant("I3")
FIELDS = ("call_id", "service", "origin", "contract_digest", "operation", "tool", "digest", "note")
WANTED = {field: f"the {field}" for field in FIELDS}


@pytest.fixture
def folder(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return state


def leave(folder, call_id="toolu_1", **changes):
    hookcore.leave(str(folder), "approvals", hookcore.sha256(call_id), {**WANTED, **changes})
    return folder / "approvals" / f"{hookcore.sha256(call_id)}.json"


def cause(*args, **more):
    with pytest.raises(RecordError) as caught:
        burn(*args, **more)
    return caught.value.cause


def test_a_record_is_read_once(folder):
    leave(folder)
    assert burn(folder, "toolu_1")["note"] == "the note"
    assert cause(folder, "toolu_1") == "unseen"
    assert list((folder / "approvals").iterdir()) == []


def test_of_many_who_want_it_one_gets_it(folder):
    leave(folder)
    together = Barrier(32)

    def take(_):
        together.wait()
        try:
            return burn(folder, "toolu_1")
        except RecordError as error:
            return error.cause

    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(take, range(32)))
    assert [one for one in got if one != "unseen"] == [
        json.loads(json.dumps({**WANTED, "time": got_time(got)}))
    ]
    assert got.count("unseen") == 31


def got_time(got):
    return next(one["time"] for one in got if isinstance(one, dict))


@pytest.mark.parametrize(
    "call_id", [None, "", "toolu_2", "../toolu_1", "../../toolu_1", "é", "\ud800", "x" * 9999]
)
def test_a_call_that_nobody_recorded(folder, call_id):
    leave(folder)
    assert cause(folder, call_id) == "unseen"
    assert burn(folder, "toolu_1")


def test_an_id_that_looks_like_a_path_stays_in_the_folder(folder):
    path = leave(folder, "../../x")
    assert path.parent == folder / "approvals"
    assert burn(folder, "../../x")


def test_no_folder_at_all(folder):
    assert cause(folder, "toolu_1") == "unseen"


def test_a_folder_that_is_a_link(folder, tmp_path):
    leave(folder)
    (folder / "approvals").rename(tmp_path / "elsewhere")
    (folder / "approvals").symlink_to(tmp_path / "elsewhere")
    assert cause(folder, "toolu_1") == "unseen"


def planted_link(path):
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


def second_name(path):
    os.link(path, path.parent.parent / "second")


def pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    "spoil",
    [
        planted_link,
        second_name,
        pipe,
        lambda path: path.chmod(0o644),
        lambda path: path.chmod(0o660),
        lambda path: path.write_bytes(b"{"),
        lambda path: path.write_bytes(b"[]"),
        lambda path: path.write_bytes(path.read_bytes() + b" " * 2**16),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_a_file_that_the_guard_did_not_write_so(folder, spoil):
    spoil(leave(folder))
    assert cause(folder, "toolu_1") == "unsafe"


def test_a_file_of_another_user(folder, monkeypatch):
    path = leave(folder)
    assert is_own(path.stat())
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert not is_own(path.stat())


def test_a_pipe_is_no_file_of_the_guards(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert not is_own((tmp_path / "pipe").stat())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_file_that_was_given_to_another_user(folder):
    os.chown(leave(folder), 4711, 4711)
    assert cause(folder, "toolu_1") == "unsafe"


def test_a_whole_record_holds():
    check({**WANTED, "time": time.time()}, WANTED)


CAUSE = {"call_id": "unsafe", "tool": "changed", "digest": "changed"}


@pytest.mark.parametrize("other", ["something else", "", None, 5, True, ["x"]])
@pytest.mark.parametrize("field", FIELDS)
def test_each_field_is_compared(field, other):
    with pytest.raises(RecordError) as caught:
        check({**WANTED, "time": time.time(), field: other}, WANTED)
    assert caught.value.cause == CAUSE.get(field, "other_contract")
    record = {**WANTED, "time": time.time()}
    del record[field]
    with pytest.raises(RecordError):
        check(record, WANTED)


@pytest.mark.parametrize("field", ["call_id", "digest"])
def test_nothing_equals_nothing(field):
    """A call without an id or a digest does not fit a record without one."""
    with pytest.raises(RecordError):
        check({**WANTED, "time": time.time(), field: None}, {**WANTED, field: None})


@pytest.mark.parametrize(
    ("age", "holds"), [(0, True), (1799, True), (1801, False), (10**9, False), (-4, True), (-60, False)]
)
def test_the_age(age, holds):
    record = {**WANTED, "time": 2_000_000_000 - age}
    if holds:
        check(record, WANTED, now=2_000_000_000)
        return
    with pytest.raises(RecordError) as caught:
        check(record, WANTED, now=2_000_000_000)
    assert caught.value.cause == "stale"


@pytest.mark.parametrize("written", [None, "2000000000", True, [2_000_000_000]])
def test_a_time_that_is_none(written):
    with pytest.raises(RecordError) as caught:
        check({**WANTED, "time": written}, WANTED, now=1)
    assert caught.value.cause == "unsafe"


def test_what_is_old_is_swept(folder):
    old, young = leave(folder, "old"), leave(folder, "young")
    hookcore.leave(str(folder), "pending", "0a0b0c0d", {})
    hookcore.leave(str(folder), "pending", "01020304", {})
    for path, age in ((old, 1900), (young, 1700)):
        os.utime(path, (time.time() - age, time.time() - age))
    aged = folder / "pending" / "0a0b0c0d.json"
    os.utime(aged, (time.time() - 2 * approvals.PENDING_SECONDS,) * 2)
    sweep(folder)
    assert sorted(path.name for path in folder.rglob("*.json")) == sorted([young.name, "01020304.json"])


def test_a_folder_with_nothing_to_sweep(tmp_path):
    sweep(tmp_path)
    sweep(tmp_path / "gone")

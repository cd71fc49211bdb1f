"""A trail is read whole, whatever was cut short in it, and each call is told once."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

import hookcore
from anvil_runtime import trail
from anvil_runtime import trail_reading as reading


def line(second: int, source: str, verb: str, *, trace=None, call=None, tool="refund_create", **more) -> dict:
    return {
        "time": f"2026-12-01T08:30:{second:02}.000Z", "source": source, "trace_id": trace, "call_id": call,
        "tool": tool, "verb": verb, "code": None, "digest": None, "status": None, "ms": 1, **more,
    }  # fmt: skip


def told(*lines: dict) -> list[tuple]:
    entries = [entry.told() for entry in reading.joined(lines)]
    return [(one["hook"], one["verb"], one["code"], one["status"], len(one["lines"])) for one in entries]


def test_one_call_is_one_entry():
    assert told(
        line(1, "hook x", "pass", call="c1"),
        line(2, "server", "sending", trace="t1", call="c1"),
        line(3, "server", "sent", trace="t1", call="c1", status=201),
    ) == [("pass", "sent", None, 201, 3)]


def test_calls_at_the_same_time_are_told_apart():
    assert told(
        line(1, "hook x", "pass", call="c1"),
        line(1, "hook x", "deny", call="c2", code="confirmation_required"),
        line(2, "server", "sending", trace="t1", call="c1"),
        line(2, "server", "sending", trace="t3", call=None),
        line(3, "server", "failed", trace="t3", call=None, code="upstream_timeout"),
        line(4, "server", "sent", trace="t1", call="c1", status=200),
    ) == [
        ("pass", "sent", None, 200, 3),
        ("deny", None, "confirmation_required", None, 1),
        (None, "failed", "upstream_timeout", None, 2),
    ]


def test_two_calls_under_one_id_are_two():
    assert told(
        line(1, "hook x", "pass", call="c1"),
        line(2, "server", "refused", trace="t1", call="c1"),
        line(3, "server", "sent", trace="t2", call="c1"),
    ) == [("pass", "refused", None, None, 2), (None, "sent", None, None, 1)]


def test_without_an_id_nothing_is_joined():
    assert len(told(line(1, "hook x", "pass"), line(1, "hook x", "pass"), line(2, "server", "sent"))) == 3


def test_all_files_are_read_the_oldest_first(tmp_path, monkeypatch):
    monkeypatch.setattr(trail, "LARGEST_FILE", 400)
    for number in range(9):
        trail.append(tmp_path, line(number, "server", "sent", trace=str(number)))
    assert len(list(tmp_path.iterdir())) > 2
    lines, unreadable = reading.read(tmp_path)
    assert [one["trace_id"] for one in lines] == [str(number) for number in range(9)]
    assert unreadable == 0


def test_no_trail_is_no_call(tmp_path):
    assert reading.read(tmp_path / "nowhere") == ([], 0)


@pytest.mark.parametrize("cut", [1, 15, 60, 140])
def test_a_line_that_was_cut_short_hides_no_other(tmp_path, cut):
    texts = [hookcore.dumps(line(number, "server", "sent", trace=str(number))) + "\n" for number in range(3)]
    torn = texts[0] + texts[1][:cut] + texts[2]
    (tmp_path / trail.FILE).write_text(torn + texts[1][:cut], "ascii")
    lines, unreadable = reading.read(tmp_path)
    assert [one["trace_id"] for one in lines] == ["0", "2"]
    assert unreadable == 2


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{}", b'{"time": 5}', b"\xff\x00", b"[" * 100_000])
def test_what_is_no_line_is_counted(raw):
    assert reading.parse(raw) == (True, None)


def test_a_name_cannot_speak_to_the_terminal():
    (row,) = reading.table(reading.joined([line(1, "server", "sent", tool="a\x1b[2J\nb\u202e")]))[1:]
    assert "a\\x1b[2J\\nb\\u202e" in row


def test_a_mutation_of_which_nothing_more_is_known():
    (row,) = reading.table(reading.joined([line(1, "server", "sending", trace="t")]))[1:]
    assert reading.NO_OUTCOME in row


def test_since_and_tool():
    entries = reading.joined([line(1, "server", "sent", tool="a"), line(5, "server", "sent", tool="b")])
    kept = reading.wanted(entries, "2026-12-01T08:30:03.000Z", None)
    assert [entry.told()["tool"] for entry in kept] == ["b"]
    assert [entry.told()["tool"] for entry in reading.wanted(entries, None, "a")] == ["a"]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("7d", 7 * 86400)])
def test_how_long_ago(text, seconds):
    moment = datetime.fromisoformat(reading.since(text).replace("Z", "+00:00"))
    wanted = datetime.now(timezone.utc) - timedelta(seconds=seconds)
    assert abs((moment - wanted).total_seconds()) < 10


def test_a_time_with_a_zone():
    assert reading.since("2026-12-01T08:30:00+02:00") == "2026-12-01T06:30:00.000Z"
    assert reading.since("2026-12-01T08:30:00Z") == "2026-12-01T08:30:00.000Z"


@pytest.mark.parametrize("text", ["", "yesterday", "5", "2026-13-01", "999999999d", "-3h"])
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="is no time"):
        reading.since(text)


def test_what_is_told_is_json():
    assert json.dumps(reading.joined([line(1, "server", "sent")])[0].told())

"""What the launcher's commands print, and how they end."""

from __future__ import annotations

import json
import os

import pytest

from anvil_runtime import commands
from anvil_runtime.state import StateFolder, folders_of


@pytest.fixture
def run(bundle_folder, tmp_path, monkeypatch, capsys):
    """A function: (exit code, standard output, standard error) of a command, and its state folder."""
    # Port 9 of this machine (discard): nobody listens there.
    monkeypatch.setenv("ANVIL_BASE_URL", "http://127.0.0.1:9")

    def launch(*words: str):
        try:
            code = commands.main(bundle_folder, tmp_path / "state", words, "server.py")
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return launch


BODY = 'body={"amount": 5}'


def test_a_dry_run_shows_the_request(run):
    code, out, _ = run("call", "refund_create", "--arg", "charge=ch_1", "--arg", BODY, "--dry-run")
    assert code == 0
    assert "http://127.0.0.1:9" in out
    assert "Nothing was sent" in out


def test_a_refusal_says_why_and_ends_with_3(run):
    code, out, err = run("call", "refund_create", "--arg", "charge=ch_1", "--arg", BODY)
    assert (code, out) == (3, "")
    assert "confirmation_required" in err
    assert "idempotency_key" in err


def test_a_failure_ends_with_1(run):
    code, out, err = run("call", "charge_get", "--arg", "charge=ch_1")
    assert (code, out) == (1, "")
    assert "upstream_error" in err


def test_json_is_the_envelope(run):
    code, out, err = run("call", "refund_creat", "--json")
    said = json.loads(out)
    assert (code, said["error"]["code"], said["near"][0], err) == (
        3,
        "unknown_operation",
        "refund_create",
        "",
    )
    assert "Near it: refund_create" in run("call", "refund_creat")[2]


@pytest.mark.parametrize(
    "words",
    [
        ["call"],
        ["call", "refund_create", "--dry-rnu"],
        ["call", "refund_create", "--dry"],
        ["call", "refund_create", "--arg", "charge"],
        ["call", "refund_create", "--args", "{"],
        ["call", "refund_create", "ch_1"],
        ["log", "--since", "yesterday"],
        ["allow"],
    ],
)
def test_wrong_usage_ends_with_2_and_calls_nothing(run, words, tmp_path):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err
    assert not (tmp_path / "state").exists()


def test_the_log_shows_what_was_called(run):
    run("call", "charge_get", "--arg", "charge=ch_1")
    run("call", "refund_create")
    code, out, _ = run("log")
    first, *rows = out.splitlines()
    assert code == 0
    assert first.split() == list(commands.reading.HEADINGS)
    assert [row.split()[1:5] for row in rows] == [
        ["charge_get", "-", "failed", "upstream_error"],
        ["refund_create", "-", "refused", "invalid_arguments"],
    ]
    said = json.loads(run("log", "--json", "--tool", "refund_create", "--since", "1h")[1])
    assert [one["verb"] for one in said["calls"]] == ["refused"]
    assert said["unreadable_lines"] == 0


def test_a_log_without_a_call_makes_no_folder(run, tmp_path):
    assert run("log")[:2] == (0, "No call is recorded.\n")
    assert not (tmp_path / "state").exists()


def test_a_trail_that_cannot_be_read(run, tmp_path):
    (tmp_path / "state" / "trail.jsonl").mkdir(parents=True)
    code, _, err = run("log")
    assert code == 1
    assert "trail.jsonl" in err


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_a_trail_that_is_no_file_holds_nothing_up(run, tmp_path, make):
    (tmp_path / "state").mkdir(mode=0o700)
    make(tmp_path / "state" / "trail.jsonl")
    code, _, err = run("log")
    assert code == 1
    assert "trail.jsonl" in err


def test_standard_input_that_is_closed(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = run("call", "charge_get", "--args", "@-")
    assert (code, "standard input is closed" in err) == (2, True)


def test_an_answer_that_cannot_be_printed_hides_no_call(capsys, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        monkeypatch.setattr("sys.stdout", full)
        code = commands.printed({"data": {"id": "re_1"}}, 0)
        monkeypatch.undo()
    assert code == 1
    said = capsys.readouterr().err
    assert "The call itself was made" in said
    assert "No space left" in said


def test_a_replay_is_said(capsys):
    assert commands.printed({"data": {"id": "re_1"}, "replayed": True}, 0) == 0
    assert "nothing was sent now" in capsys.readouterr().err


def test_where_the_state_is(tmp_path):
    own = StateFolder("shop-0123456789ab")
    assert own.path.parent.name == "anvil"
    assert StateFolder(str(tmp_path)).path == tmp_path
    whole = StateFolder(str(tmp_path / "made"))
    assert whole.ready() == whole.path


def test_the_folders_of_a_service(tmp_path, monkeypatch):
    monkeypatch.setattr("anvil_runtime.state.services_folder", lambda: tmp_path)
    for name in ("shop-0123456789ab", "shop-two-0123456789ab", "installs", "shop-nothex"):
        (tmp_path / name).mkdir()
    assert [one.name for one in folders_of("shop")] == ["shop-0123456789ab"]
    assert [one.name for one in folders_of()] == ["shop-0123456789ab", "shop-two-0123456789ab"]

"""Large answers in files: for the user alone, without a secret, and not for ever."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from anvil_runtime import spill as module
from anvil_runtime.redaction import Secrets
from anvil_runtime.spill import FOLDER, KEPT_SECONDS, Spill
from anvil_runtime.state import StateFolder

SECRET = "sk_live_0123456789"


@pytest.fixture
def spill(tmp_path) -> Spill:
    secrets = Secrets()
    secrets.add(SECRET)
    return Spill(StateFolder(str(tmp_path / "kept")), secrets)


def test_a_file_holds_what_came(spill):
    writer = spill.start()
    for piece in (b"one ", b"two"):
        writer.feed(piece)
    made = writer.finish()
    path = Path(made.path)
    assert path.read_bytes() == b"one two"
    assert (made.size, made.sha256) == (7, hashlib.sha256(b"one two").hexdigest())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("at", range(1, len(SECRET)))
def test_no_secret_is_in_it_also_where_it_came_in_two(spill, at):
    writer = spill.start()
    for piece in (b"x" * 100 + SECRET[:at].encode(), SECRET[at:].encode() + b"y" * 100):
        writer.feed(piece)
    data = Path(writer.finish().path).read_bytes()
    assert SECRET.encode() not in data
    assert data.startswith(b"x" * 100)
    assert data.endswith(b"y" * 100)


def test_what_is_abandoned_is_gone(spill):
    writer = spill.start()
    writer.feed(b"x" * 1000)
    writer.abandon()
    assert not writer.path.exists()


def test_it_has_an_end(spill, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 1000)
    writer = spill.start()
    writer.feed(b"x" * 500)
    assert not writer.full
    writer.feed(b"x" * 600)
    assert writer.full
    writer.abandon()


def old(spill: Spill, name: str, size: int, age: float) -> Path:
    folder = spill.folder.ready() / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_the_old_go_after_a_week(spill):
    gone, kept = old(spill, "a", 1, KEPT_SECONDS + 60), old(spill, "b", 1, KEPT_SECONDS - 60)
    spill.start().abandon()
    assert (gone.exists(), kept.exists()) == (False, True)


def test_the_oldest_go_where_there_is_too_much(spill, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    monkeypatch.setattr(module, "LARGEST_FILE", 300)
    files = [old(spill, str(age), 300, age) for age in (400, 300, 200, 100)]
    spill.start().abandon()
    assert [file.exists() for file in files] == [False, False, True, True]


def test_without_a_folder_there_is_no_file(spill):
    spill.folder.ready().chmod(0o755)
    assert spill.start() is None

"""A file that holds a credential is one that only its owner could have written and can read."""

from __future__ import annotations

import os

import pytest

from anvil_core.air import SecretSource
from anvil_runtime import secret_values
from anvil_runtime.secret_values import CredentialError, read

VALUE = "canary-7f93"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's home, with a working folder beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(secret_values, "_home", lambda: tmp_path / "home")
    return tmp_path / "home"


def write(path, text=VALUE + "\n", mode=0o600):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return SecretSource(part="value", file=str(path))


def test_a_variable():
    source = SecretSource(part="value", env="KEY")
    assert read(source, {"KEY": VALUE}) == VALUE
    assert read(source, {}) is None
    assert read(source, {"KEY": ""}) is None


def test_a_file_less_its_last_line_break(home):
    assert read(write(home / "key"), {}) == VALUE
    assert read(write(home / "key", VALUE + "\r\n"), {}) == VALUE
    assert read(write(home / "key", VALUE), {}) == VALUE
    assert read(write(home / "key", ""), {}) is None


def test_a_file_below_the_home_that_the_system_has(home, monkeypatch):
    write(home / "key")
    monkeypatch.setenv("HOME", "/nowhere")
    assert read(SecretSource(part="value", file="~/key"), {}) == VALUE


def test_it_is_read_anew_each_time(home):
    source = write(home / "key")
    assert read(source, {}) == VALUE
    write(home / "key", "another-one")
    assert read(source, {}) == "another-one"


def test_one_that_is_not_there_is_missing_and_not_wrong(home):
    assert read(SecretSource(part="value", file=str(home / "none")), {}) is None
    assert read(SecretSource(part="value", file=str(write(home / "a").file) + "/b"), {}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o601, 0o777])
def test_one_that_others_can_open(home, mode):
    with pytest.raises(CredentialError, match="chmod 600"):
        read(write(home / "key", mode=mode), {})


def test_what_is_no_file_of_its_own(home):
    write(home / "key")
    (home / "link").symlink_to(home / "key")
    (home / "folder").mkdir(mode=0o700)
    os.mkfifo(home / "pipe", 0o600)
    for name, word in (
        ("link", "is a link"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
    ):
        with pytest.raises(CredentialError, match=word):
            read(SecretSource(part="value", file=str(home / name)), {})


def test_another_users(home, monkeypatch):
    source = write(home / "key")
    monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(CredentialError, match="not owned by you"):
        read(source, {})


@pytest.mark.parametrize("inside", [".", "deeper"])
def test_one_in_the_working_folder(home, monkeypatch, inside):
    work = home.parent / "work"
    (work / "deeper").mkdir()
    with pytest.raises(CredentialError, match="inside the working folder"):
        read(write(work / inside / "key"), {})
    (home / "way").symlink_to(work / inside)
    with pytest.raises(CredentialError, match="inside the working folder"):
        read(SecretSource(part="value", file=str(home / "way" / "key")), {})
    monkeypatch.chdir("/")
    assert read(SecretSource(part="value", file=str(home / "way" / "key")), {}) == VALUE


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a" * 20_000, "too large"),
        (b"\xff\xfe", "UTF-8"),
        ("two\nlines\n", "line break"),
        ("a\x00b", "control"),
    ],
)
def test_what_it_holds_is_one_line_of_text(home, text, word):
    with pytest.raises(CredentialError, match=word):
        read(write(home / "key", text), {})

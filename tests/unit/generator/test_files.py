"""Files and folders are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from anvil_generator import files
from anvil_generator.files import write_file, write_tree

NEW = {"a.txt": b"new", "sub/b.txt": b"b"}


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "out"
    write_tree(folder, {"a.txt": b"old", "gone.txt": b""})
    return folder


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_tree_is_replaced_with_nothing_left_over(old, monkeypatch, exchanged):
    if not exchanged:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    write_tree(old, NEW)
    assert tree(old) == NEW
    assert names(old.parent) == ["out"]


def full_disk(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["write_bytes", "chmod"])
def test_a_failure_leaves_the_old_tree_and_nothing_else(old, monkeypatch, step):
    before = tree(old)
    monkeypatch.setattr(Path, step, full_disk)
    with pytest.raises(OSError, match="No space"):
        write_tree(old, NEW)
    assert tree(old) == before
    assert names(old.parent) == ["out"]


def test_a_rename_that_fails_brings_the_old_tree_back(old, monkeypatch):
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    rename, calls = Path.rename, []

    def second_fails(self, target):
        calls.append(self)
        return full_disk() if len(calls) == 2 else rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OSError, match="No space"):
        write_tree(old, NEW)
    assert tree(old) == {"a.txt": b"old", "gone.txt": b""}
    assert names(old.parent) == ["out"]


def test_folders_above_are_made(tmp_path):
    write_tree(tmp_path / "x" / "y" / "out", NEW)
    assert tree(tmp_path / "x" / "y" / "out") == NEW


def test_a_relative_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(Path("out"), NEW)
    write_tree(Path("out") / "." / ".." / "out", {"c": b""})
    assert tree(tmp_path / "out") == {"c": b""}
    assert names(tmp_path) == ["out"]


def test_a_file_keeps_its_mode_and_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "f"
    write_file(path, b"1")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write_file(path, b"2")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"2", 0o600)
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_file(path, b"3")
    assert path.read_bytes() == b"2"
    assert names(tmp_path) == ["f"]


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"mine"
    assert not os.path.islink(tmp_path / "link")  # noqa: PTH114

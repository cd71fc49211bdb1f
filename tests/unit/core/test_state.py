"""The state folder, and what the hook and the executor put into it."""

from __future__ import annotations

import json
import os
import pwd
import stat
import time
from pathlib import Path

import pytest

import hookcore
from anvil_core.names import state_name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A whole path of a folder that is not there yet, from a working folder beside it."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return str(tmp_path / "home" / ".local" / "state" / "anvil" / "shop-0123456789ab")


def test_it_is_made_for_the_user_alone(folder):
    assert hookcore.state_folder(folder) == folder
    assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert hookcore.state_folder(folder) == folder


def test_its_home_is_the_systems_and_not_a_variables(folder, monkeypatch):
    home = str(Path(folder).parents[3])
    entry = pwd.struct_passwd(("me", "x", os.getuid(), os.getgid(), "", home, "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: entry)
    monkeypatch.setenv("HOME", "/nowhere")
    assert hookcore.state_folder("shop-0123456789ab") == folder


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o750])
def test_others_must_not_open_it(folder, mode):
    hookcore.state_folder(folder)
    Path(folder).chmod(mode)
    with pytest.raises(OSError, match="nobody else can open"):
        hookcore.state_folder(folder)


def test_it_is_no_link_and_no_file(folder, tmp_path):
    Path(folder).parent.mkdir(parents=True)
    (tmp_path / "other").mkdir(mode=0o700)
    Path(folder).symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="nobody else can open"):
        hookcore.state_folder(folder)
    Path(folder).unlink()
    Path(folder).touch(mode=0o600)
    with pytest.raises(OSError, match="nobody else can open"):
        hookcore.state_folder(folder)


@pytest.mark.parametrize("up", range(5))
def test_it_is_not_inside_the_working_folder(folder, monkeypatch, up):
    hookcore.state_folder(folder)
    monkeypatch.chdir([Path(folder), *Path(folder).parents][up])
    with pytest.raises(OSError, match="inside the working folder"):
        hookcore.state_folder(folder)


def test_nor_behind_a_link_into_it(folder, tmp_path):
    inside = tmp_path / "work" / "planted"
    inside.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".local").symlink_to(inside)
    with pytest.raises(OSError, match="inside the working folder"):
        hookcore.state_folder(folder)


def test_the_root_is_nobodys_project(folder, monkeypatch):
    monkeypatch.chdir("/")
    assert hookcore.state_folder(folder) == folder


def test_put_makes_a_new_file_or_adds_a_line(tmp_path):
    path = str(tmp_path / "trail")
    hookcore.put(path, "one\n")
    with pytest.raises(FileExistsError):
        hookcore.put(path, "other\n")
    hookcore.put(path, "two\n", append=True)
    assert Path(path).read_text(encoding="ascii") == "one\ntwo\n"
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


@pytest.mark.parametrize("append", [True, False])
def test_put_follows_no_link(tmp_path, append):
    (tmp_path / "target").write_text("", encoding="ascii")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError):  # noqa: PT011  # ELOOP or EEXIST
        hookcore.put(str(tmp_path / "link"), "x", append=append)
    assert (tmp_path / "target").read_bytes() == b""


def test_leave_puts_whole_json(tmp_path):
    hookcore.leave(str(tmp_path), "approvals", "ab", {"b": 1, "a": "é"})
    hookcore.leave(str(tmp_path), "approvals", "ab", {"b": 2})
    assert [path.name for path in (tmp_path / "approvals").iterdir()] == ["ab.json"]
    text = (tmp_path / "approvals" / "ab.json").read_text(encoding="ascii")
    assert text == hookcore.dumps(json.loads(text)) + "\n"
    assert abs(json.loads(text).pop("time") - time.time()) < 60
    assert {**json.loads(text), "time": 0} == {"b": 2, "time": 0}
    assert stat.S_IMODE((tmp_path / "approvals").stat().st_mode) == 0o700


def test_the_name_is_of_service_and_origin():
    one = state_name("shop", "https://shop.example")
    assert one == state_name("shop", "https://shop.example")
    assert one.startswith("shop-")
    assert len(one) == len("shop-") + 12
    assert (
        len(
            {one, state_name("shop", "https://shop.example:444"), state_name("shop2", "https://shop.example")}
        )
        == 3
    )

from __future__ import annotations

import io
import json
import tarfile

import pytest

from anvil_lab import base
from anvil_lab.errors import LabError, UnavailableError
from anvil_lab.pins import Bases, LocalBase, PublicBase

PIN = LocalBase(suite="trixie", variant="essential", include=("python3",), epoch=0)
DIGEST = "sha256:" + "0" * 64


def bases(digest=None):
    return Bases(local=PIN, public=PublicBase(image="python:3", digest=digest))


def archive(tar):
    out = io.BytesIO()
    base.write_archive(tar, out, tag="name:tag", epoch=0)
    return out.getvalue()


def test_the_same_file_system_gives_the_same_bytes(tmp_path):
    tar = tmp_path / "rootfs.tar"
    tar.write_bytes(b"layer")
    first = archive(tar)
    assert first == archive(tar)
    with tarfile.open(fileobj=io.BytesIO(first)) as found:
        config, manifest, layer = found.getmembers()
        listed = json.load(found.extractfile(manifest))[0]
        assert listed["RepoTags"] == ["name:tag"]
        assert (listed["Config"], listed["Layers"]) == (config.name, [layer.name])
        written = json.load(found.extractfile(config))
        assert written["created"] == "1970-01-01T00:00:00Z"
        assert found.extractfile(layer).read() == b"layer"


def test_the_name_follows_the_recipe():
    assert base.rootfs_name(PIN) == base.rootfs_name(PIN)
    assert base.rootfs_name(PIN) != base.rootfs_name(PIN.model_copy(update={"include": ("python3", "tmux")}))


def test_the_public_base_needs_a_digest(tmp_path, monkeypatch):
    assert base.ensure(None, bases(DIGEST), tmp_path, "public") == f"python:3@{DIGEST}"
    monkeypatch.setenv("ANVIL_LAB_BASE", "public")
    with pytest.raises(LabError, match="update-pins"):
        base.ensure(None, bases(), tmp_path)
    with pytest.raises(LabError, match="neither local nor public"):
        base.ensure(None, bases(), tmp_path, "other")


def test_mmdebstrap_missing_or_failing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program = tmp_path / "mmdebstrap"
    program.write_text("#!/bin/sh\necho no such suite >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(LabError, match="no such suite"):
        base.rootfs(PIN, tmp_path)
    assert list(tmp_path.iterdir()) == [program]
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(UnavailableError, match="apt-get install mmdebstrap"):
        base.rootfs(PIN, tmp_path)


def test_a_rootfs_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program = tmp_path / "mmdebstrap"
    program.write_text('#!/bin/sh\nfor last; do :; done\necho "$SOURCE_DATE_EPOCH" > "$last"\n')
    program.chmod(0o755)
    made = base.rootfs(PIN, tmp_path)
    assert made.read_text() == "0\n"
    program.unlink()
    assert base.rootfs(PIN, tmp_path) == made

from __future__ import annotations

import io
import tarfile

import pytest

from anvil_lab import cache
from anvil_lab.contract import program, recorder
from anvil_lab.errors import LabError


@pytest.fixture
def tarball(tmp_path, monkeypatch, pin):
    """A tarball in the cache, and its pin."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ANVIL_LAB_CACHE", str(folder))

    def make(name):
        path = cache.cache_dir() / pin.tarball_name
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"true"))
        return pin.model_copy(update={"integrity": cache.integrity_of(path)})

    return make


def test_a_version_is_unpacked_for_its_mount_and_removed(tarball):
    with program.mounted("claude", tarball("package/one")) as mounts:
        (mount,) = mounts
        assert (mount.target, mount.writable) == ("/opt/claude", False)
        source = cache.cache_dir() / mount.source
        assert (source / "package" / "one").stat().st_mode & 0o777 == 0o755
    assert not source.exists()


@pytest.mark.parametrize("name", ["package/other", "../package/one"])
def test_a_tarball_without_the_program_is_an_error(tarball, name):
    with pytest.raises((LabError, tarfile.FilterError)), program.mounted("claude", tarball(name)):
        pytest.fail("it was mounted")


def line(name="a.b", version="1.2.3", **facts):
    return {"id": name, "version": version, "facts": facts or {"outcome": "ran"}}


def test_the_program_must_say_the_version_that_is_recorded(pin):
    recorder._check_version([line(), line(version=None)], pin)
    with pytest.raises(LabError, match=r"says .*'1.2.4'"):
        recorder._check_version([line(), line(version="1.2.4")], pin)


def test_a_record_of_failures_is_none(pin):
    recorder._check_version([line(), line(version=None, error="x")], pin)
    with pytest.raises(LabError, match="none of the probes"):
        recorder._check_version([line(version=None, error="x")], pin)

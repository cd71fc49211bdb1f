from __future__ import annotations

import pytest

from anvil_lab import cache, tarballs
from anvil_lab.errors import LabError, UnavailableError
from anvil_lab.pins import HarnessPin

NPM = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && folder=$2; shift; done
printf 'the package' > "$folder/scope-one-1.2.3.tgz"
"""


@pytest.fixture
def pin(tmp_path):
    sample = tmp_path / "sample"
    sample.write_bytes(b"the package")
    integrity = cache.integrity_of(sample)
    return HarnessPin(package="@scope/one", version="1.2.3", integrity=integrity, binary="package/one")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "cache"
    made.mkdir()
    return made


@pytest.fixture
def npm(tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(NPM)
    (programs / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs / "npm"


def test_a_checked_download_is_kept_and_used_again(pin, folder, npm):
    path = tarballs.fetch(pin, folder)
    assert path == folder / "scope-one-1.2.3.tgz"
    npm.write_text("#!/bin/sh\nexit 1\n")
    assert tarballs.fetch(pin, folder).read_bytes() == b"the package"
    assert [found.name for found in folder.iterdir()] == [path.name]


def test_a_spoilt_file_is_fetched_again(pin, folder, npm):
    (folder / pin.tarball_name).write_bytes(b"something else")
    assert tarballs.fetch(pin, folder).read_bytes() == b"the package"


def test_another_digest_is_an_error_and_nothing_is_kept(pin, folder, npm):
    npm.write_text(NPM.replace("the package", "another"))
    with pytest.raises(LabError, match="nothing was kept"):
        tarballs.fetch(pin, folder)
    assert list(folder.iterdir()) == []


def test_failures_are_said(pin, folder, npm, monkeypatch):
    npm.write_text("#!/bin/sh\necho no such version >&2; exit 1\n")
    with pytest.raises(LabError, match="no such version"):
        tarballs.fetch(pin, folder)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(UnavailableError, match="npm is not on PATH"):
        tarballs.fetch(pin, folder)

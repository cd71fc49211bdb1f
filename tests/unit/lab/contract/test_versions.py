"""Which version is the newest, under which digest it is known, and what happens when that changes."""

from __future__ import annotations

import pytest

from anvil_lab import cache, pins
from anvil_lab.contract import integrity, npm, program, watch
from anvil_lab.errors import LabError, UnavailableError

NEW = "sha512-" + "n" * 86 + "=="
PACKS = """#!/bin/sh
if [ "$1" = pack ]; then
  while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && folder=$2; shift; done
  printf other > "$folder/one-1.3.0.tgz"; exit
fi"""


@pytest.fixture
def root(tmp_path, images_folder, monkeypatch):
    made = tmp_path / "checkout"
    (made / pins.FOLDER).mkdir(parents=True)
    (made / pins.FOLDER / pins.FILE).write_text((images_folder / pins.FILE).read_text())
    return made


def test_the_newest_is_what_npm_would_install(npm_program):
    assert npm.newest("@scope/one") == "1.3.0"


@pytest.mark.parametrize(
    "tags", ['{"next": "1.0.0"}', '{"latest": "1.0.0; rm"}', '{"latest": 5}', '"1.0.0"', "[]"]
)
def test_a_newest_that_is_no_version_is_an_error(npm_program, tags):
    (npm_program / "tags").write_text(tags)
    with pytest.raises(LabError, match="no newest version"):
        npm.newest("@scope/one")


def test_another_version_has_the_digest_that_npm_names(npm_program, pin):
    found = integrity.resolve(pin, "1.3.0", {})
    assert (found.version, found.integrity, found.binary) == ("1.3.0", NEW, pin.binary)


def test_npm_is_asked_for_the_build_and_the_pin_keeps_the_version(npm_program, pin):
    built = pin.model_copy(update={"build": "-linux-x64"})
    found = integrity.resolve(built, "1.3.0", {})
    assert (npm_program / "asked").read_text().split() == ["@scope/one@1.3.0-linux-x64"]
    assert (found.version, found.published) == ("1.3.0", "1.3.0-linux-x64")


def test_the_pinned_and_the_known_need_no_npm(pin, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert integrity.resolve(pin, "1.2.3", {}) == pin
    assert integrity.resolve(pin, "1.3.0", {"1.3.0": NEW}).integrity == NEW
    with pytest.raises(UnavailableError, match="npm is not on PATH"):
        integrity.resolve(pin, "1.4.0", {})


def test_the_same_version_with_another_digest_is_an_error(npm_program, pin):
    with pytest.raises(LabError, match="Nothing was run"):
        integrity.resolve(pin, "1.3.0", {"1.3.0": pin.integrity}, ask=True)
    with pytest.raises(LabError, match="was replaced"):  # the pinned version, as npm has it now
        integrity.resolve(pin, "1.2.3", {}, ask=True)
    with pytest.raises(LabError, match="was replaced"):  # the pin itself, against the lock
        integrity.resolve(pin, "1.3.0", {"1.2.3": NEW})


@pytest.mark.parametrize("version", ["latest", "1.2", "^1.2.3", "1.2.3 || 2", "../1.2.3"])
def test_only_exact_versions(npm_program, pin, version):
    with pytest.raises(LabError, match="not an exact version"):
        npm.published(pin, version)


@pytest.mark.parametrize("digest", ["", '"sha1-abc"', "5", "no such version"])
def test_a_version_without_a_digest_is_an_error(npm_program, pin, digest):
    (npm_program / "integrity").write_text(digest)
    with pytest.raises(LabError, match=r"1\.3\.0"):
        npm.published(pin, "1.3.0")


def test_what_npm_says_of_a_failure_is_passed_on(npm_program, pin):
    (npm_program / "npm").write_text("#!/bin/sh\necho E404 not found >&2; exit 1\n")
    with pytest.raises(LabError, match="E404"):
        npm.published(pin, "1.3.0")


def test_the_lock_is_sorted_by_version_and_read_back(tmp_path):
    known = {"1.10.0": "sha512-a", "1.9.0": "sha512-b", "1.9.0-rc.1": "sha512-c"}
    path = tmp_path / "deep" / integrity.FILE
    integrity.write(path, known)
    assert [line.split()[0] for line in path.read_text().splitlines()] == ["1.9.0", "1.9.0-rc.1", "1.10.0"]
    assert integrity.read(path) == known
    assert integrity.read(tmp_path / "none") == {}
    path.write_text("1.0.0 sha512-a\n1.0.0 sha512-b\n")
    with pytest.raises(LabError, match="two digests"):
        integrity.read(path)


def test_the_watch_asks_npm_even_for_what_it_knows(npm_program, root):
    assert watch.resolve(root, "claude").version == "1.3.0"
    integrity.write(integrity.place(root, "claude"), {"1.3.0": "sha512-other"})
    with pytest.raises(LabError, match="was replaced"):
        watch.resolve(root, "claude")


def test_the_watch_runs_nothing_whose_bytes_are_not_what_npm_names(npm_program, root, tmp_path, monkeypatch):
    """The digest is compared before anything is unpacked."""
    monkeypatch.setenv("ANVIL_LAB_CACHE", str(tmp_path / "cache"))
    (npm_program / "npm").write_text((npm_program / "npm").read_text().replace("#!/bin/sh", PACKS))
    newest = watch.resolve(root, "claude")
    with pytest.raises(LabError, match="nothing was kept"), program.mounted("claude", newest):
        pytest.fail("it was mounted")
    assert not list(cache.cache_dir().iterdir())

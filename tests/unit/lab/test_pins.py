from __future__ import annotations

import pytest

from anvil_lab import pins
from anvil_lab.errors import LabError

TEXT = """
schema = 1
[base.local]
suite = "trixie"
variant = "essential"
include = ["python3"]
epoch = 1
[base.public]
image = "python:3"
[harness.one]
package = "@scope/one"
version = "1.2.3"
integrity = "sha512-{digest}=="
binary = "package/one"
"""
GOOD = TEXT.format(digest="A" * 86)


def written(folder, text):
    (folder / pins.FILE).write_text(text, encoding="utf-8")
    return folder


def test_the_projects_own_pins_are_valid(images_folder):
    found = pins.load(images_folder)
    assert found.of("claude").package == "@anthropic-ai/claude-code-linux-x64"
    assert (images_folder / "claude" / "Dockerfile").is_file()
    assert found.harness.keys() == {path.parent.name for path in images_folder.glob("*/Dockerfile")}


def test_tarball_name(tmp_path):
    assert pins.load(written(tmp_path, GOOD)).of("one").tarball_name == "scope-one-1.2.3.tgz"


def test_a_build_is_part_of_the_published_name_alone(tmp_path):
    text = GOOD.replace('version = "1.2.3"', 'version = "1.2.3"\nbuild = "-linux-x64"')
    found = pins.load(written(tmp_path, text)).of("one")
    assert (found.version, found.published) == ("1.2.3", "1.2.3-linux-x64")
    assert found.tarball_name == "scope-one-1.2.3-linux-x64.tgz"


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("sha512-A", "sha256-A"), "integrity"),
        (("package/one", "/etc/one"), "binary"),
        (("package/one", "package/../one"), "binary"),
        (("schema = 1", "schema = 2"), "schema"),
        (('image = "python:3"', 'image = "python:3"\ndigest = "latest"'), "digest"),
        (("epoch = 1", "epoch = 1\nurl = 'x'"), "url"),
        (("schema = 1", "schema ="), "Invalid value"),
    ],
)
def test_what_is_no_pin_is_refused(tmp_path, change, names):
    with pytest.raises(LabError, match=names):
        pins.load(written(tmp_path, GOOD.replace(*change)))


def test_a_missing_file_and_an_unknown_harness_are_said(tmp_path):
    with pytest.raises(LabError, match=r"pins\.toml"):
        pins.load(tmp_path)
    with pytest.raises(LabError, match=r"no \[harness.two\] \(it has: one\)"):
        pins.load(written(tmp_path, GOOD)).of("two")


def test_the_folder_is_found_from_below(images_folder, tmp_path):
    assert pins.find_images(images_folder / "claude") == images_folder
    with pytest.raises(LabError, match="checkout"):
        pins.find_images(tmp_path)

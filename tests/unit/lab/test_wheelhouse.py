from __future__ import annotations

import pytest

from anvil_lab import wheelhouse
from anvil_lab.errors import LabError
from anvil_lab.wheelhouse import Lock, Wheel

A, B, C = ("a" * 64, "b" * 64, "c" * 64)
TEXT = f"""
# a comment
one==1.0 \\
    --hash=sha256:{A} \\
    --hash=sha256:{B}
two==2.0 ; sys_platform == 'win32' \\
    --hash=sha256:{C}
three[extra]==3.0 ; python_full_version < '3.12' --hash=sha256:{C}
"""
PIP_WHEEL = Wheel(f"pip-{wheelhouse.PIP}-py3-none-any.whl", C)
ONE = Wheel("one-1.0-py3-none-any.whl", B)


def lock(*wheels, text=TEXT):
    return Lock(wheelhouse.requirements_digest(text), wheels)


def test_the_projects_own_lock_fits_its_requirements(images_folder, requirements):
    found = wheelhouse.problems(wheelhouse.read_lock(images_folder / wheelhouse.FILE), requirements)
    assert found == [], "run: python -m anvil_lab wheelhouse update"


def test_only_what_the_images_python_needs_is_wanted():
    names = [item.name for item in wheelhouse.read_requirements(TEXT) if item.wanted()]
    assert names == ["one"]
    assert wheelhouse.problems(lock(ONE, PIP_WHEEL), TEXT) == []


@pytest.mark.parametrize(
    ("wheels", "says"),
    [
        ((PIP_WHEEL,), "one 1.0 is required and not in the lock"),
        ((ONE,), "no wheel of pip"),
        ((Wheel("one-1.0-py3-none-any.whl", C), PIP_WHEEL), "is not the required one 1.0"),
        ((Wheel("one-1.1-py3-none-any.whl", B), PIP_WHEEL), "is not the required one 1.0"),
        ((ONE, PIP_WHEEL, Wheel("two-2.0-py3-none-any.whl", C)), "in the lock and not required"),
    ],
)
def test_each_disagreement_is_named(wheels, says):
    [found] = wheelhouse.problems(lock(*wheels), TEXT)
    assert says in found


def test_a_changed_requirement_is_noticed_and_a_changed_comment_is_not():
    made = lock(ONE, PIP_WHEEL)
    assert wheelhouse.problems(made, TEXT.replace("# a comment", "# another")) == []
    assert any("have changed" in words for words in wheelhouse.problems(made, TEXT.replace("==2.0", "==2.1")))


@pytest.mark.parametrize("entry", ["one==1.0", f"one>=1.0 --hash=sha256:{A}"])
def test_a_requirement_without_version_or_hash_is_refused(entry):
    with pytest.raises(LabError, match="exact version"):
        wheelhouse.read_requirements(entry)


def test_the_lock_is_read_as_it_is_written(tmp_path):
    made = lock(PIP_WHEEL, ONE)
    path = tmp_path / wheelhouse.FILE
    path.write_text(made.text())
    assert wheelhouse.read_lock(path) == Lock(made.requirements, (ONE, PIP_WHEEL))


def test_a_download_that_is_not_the_locked_file_is_refused(tmp_path, monkeypatch):
    def download(lines, folder):
        assert lines == [f"one==1.0 --hash=sha256:{B}"]
        (folder / ONE.file).write_bytes(b"something else")

    monkeypatch.setattr(wheelhouse, "_download", download)
    with pytest.raises(LabError, match="not the locked file"):
        wheelhouse.fetch(Lock("", (ONE,)), tmp_path)
    assert list((tmp_path / "wheels").iterdir()) == []

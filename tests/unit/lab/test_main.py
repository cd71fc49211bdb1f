from __future__ import annotations

import pytest

from anvil_lab import __main__ as main
from anvil_lab import wheelhouse


def test_usage(capsys, images_folder, monkeypatch):
    monkeypatch.chdir(images_folder)
    assert main.main(["nonsense"]) == 2
    assert "anvil_lab images" in capsys.readouterr().err


def test_outside_a_checkout_is_said(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.main(["clean"]) == 1
    assert "checkout" in capsys.readouterr().err


@pytest.mark.parametrize(("found", "code"), [([], 0), (["one is missing"], 1)])
def test_the_wheel_lock_is_compared(found, code, capsys, images_folder, monkeypatch):
    monkeypatch.chdir(images_folder)
    monkeypatch.setattr(wheelhouse, "problems", lambda *_: found)
    assert main.main(["wheelhouse", "check"]) == code
    assert (found or ["the wheel lock fits the requirements"])[0] in capsys.readouterr().out

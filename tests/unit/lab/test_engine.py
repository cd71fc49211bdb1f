from __future__ import annotations

import socket

import pytest

from anvil_lab import engine
from anvil_lab.errors import UnavailableError


@pytest.mark.parametrize("kind", ["missing", "file", "deaf"])
def test_no_engine_is_one_line_that_says_how_to_start_one(kind, tmp_path, monkeypatch):
    path = tmp_path / "socket"
    if kind == "file":
        path.touch()
    if kind == "deaf":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with pytest.raises(UnavailableError, match=r"no Docker engine.*engine\.sh start") as caught:
        engine.connect()
    assert "\n" not in str(caught.value)

"""The bundles of the examples, compiled once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ("payments", "paypal-payments", "notion")


@pytest.fixture(scope="session")
def bundles(tmp_path_factory) -> dict[str, Path]:
    """{example: folder of its bundle}, made by the command line as a user makes it."""
    parent = tmp_path_factory.mktemp("agreement")
    for name in EXAMPLES:
        command = [sys.executable, "-m", "anvil_generator", "compile", str(ROOT / "examples" / name)]
        subprocess.run([*command, "--out", str(parent / name)], check=True, capture_output=True)
    return {name: parent / name for name in EXAMPLES}

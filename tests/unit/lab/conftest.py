from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def images_folder() -> Path:
    return ROOT / "harness-images"


@pytest.fixture
def requirements() -> str:
    path = ROOT / "packages" / "runtime" / "src" / "anvil_runtime" / "requirements.lock"
    return path.read_text(encoding="utf-8")

"""The bundles of the examples, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from agreement.agreement_rings import compile_examples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def bundles(tmp_path_factory) -> dict[str, Path]:
    return compile_examples(tmp_path_factory.mktemp("agreement"))

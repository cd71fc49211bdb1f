"""The page of refusals names every code, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from anvil_runtime.words import REFUSALS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "refusals.md"


def test_the_page_has_a_row_for_each_code():
    rows = re.findall(r"^\| `([a-z_]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(REFUSALS)

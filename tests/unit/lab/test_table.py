from __future__ import annotations

from anvil_lab import table


def test_columns_are_as_wide_as_what_stands_in_them():
    rows = [
        table.Row("a-long-scenario", "ran", 1, 1.04, good=True),
        table.Row("b", "refused (hook), ran", 0, 12.0, good=False),
    ]
    assert table.render(rows) == [
        "scenario         calls                API requests  seconds",
        "a-long-scenario  ran                  1             1.0",
        "b                refused (hook), ran  0             12.0     NOT AS EXPECTED",
    ]

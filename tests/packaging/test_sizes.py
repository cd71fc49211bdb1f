"""The script that lint runs: the limits hold here, and each of them is seen when it does not."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
too_large = runpy.run_path(str(ROOT / "tests" / "packaging" / "sizes.py"))["too_large"]


@pytest.mark.invariant("I10")
def test_the_limits_hold():
    assert too_large(ROOT) == []


@pytest.fixture
def tree(tmp_path):
    for path, lines in {
        "packages/core/src/hookcore.py": 300,
        "packages/core/src/anvil_core/a.py": 100,
        "packages/core/src/anvil_core/b.py": 100,
        "packages/core/src/anvil_core/c.py": 100,
        "packages/shims/src/anvil_shims/one/hook.py": 100,
        "packages/shims/src/anvil_shims/one/templates/x.json.j2": 120,
    }.items():
        write(tmp_path, path, lines)
    return tmp_path


def write(root, path, lines):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("x\n" * lines, encoding="utf-8")


def test_a_tree_at_its_limits(tree):
    assert too_large(tree) == []


@pytest.mark.parametrize(
    ("path", "lines", "said"),
    [
        ("packages/core/src/anvil_core/a.py", 501, "anvil_core/a.py: 501 lines, at most 500"),
        ("harness-images/one/Dockerfile", 501, "Dockerfile: 501 lines"),
        ("packages/shims/src/anvil_shims/one/templates/x.json.j2", 121, "x.json.j2: 121 lines, at most 120"),
        (
            "packages/shims/src/anvil_shims/one/hook.py",
            101,
            "one/hook.py (101) and hookcore.py (300): 401 lines",
        ),
        ("packages/core/src/hookcore.py", 301, "401 lines together, at most 400"),
    ],
)
def test_one_line_more_is_seen(tree, path, lines, said):
    write(tree, path, lines)
    (found,) = too_large(tree)
    assert said in found


def test_a_large_median_is_seen(tree):
    for name in "abc":
        write(tree, f"packages/core/src/anvil_core/{name}.py", 121)
    assert too_large(tree) == ["the median of 5 modules is 121 lines, at most 120"]


def test_an_empty_tree_is_no_success(tmp_path):
    assert too_large(tmp_path) != []

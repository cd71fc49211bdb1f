"""Every invariant of the design has tests that are marked with its id."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ALL = {f"I{number}" for number in range(1, 11)}


def marks(source):
    """The ids of ``pytest.mark.invariant(...)`` in a test file, as decorator or in ``pytestmark``."""
    return {
        str(argument.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "invariant"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


def marked():
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for invariant in marks(path.read_text(encoding="utf-8")):
            found.setdefault(invariant, []).append(path.relative_to(TESTS).as_posix())
    return found


def test_every_invariant_has_tests():
    lacking = sorted(ALL - set(marked()))
    assert not lacking, f"no test is marked with {', '.join(lacking)}"


def test_no_mark_names_another_invariant():
    assert set(marked()) <= ALL


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('@pytest.mark.invariant("I4")\ndef test_x(): pass\n', {"I4"}),
        ('pytestmark = [pytest.mark.invariant("I2"), pytest.mark.slow]\n', {"I2"}),
        ('# @pytest.mark.invariant("I4")\n"pytest.mark.invariant(\'I4\')"\n', set()),
        ("@pytest.mark.invariant\ndef test_x(): pass\n", set()),
    ],
)
def test_the_check_sees(source, found):
    assert marks(source) == found

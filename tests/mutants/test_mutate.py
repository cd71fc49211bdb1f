"""The table of mutants fits the tree, and the runner tells a kill from what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import mutate

MUTANTS = mutate.load(mutate.TABLE)
ONE = mutate.Mutant("one", "a.py", "x = 1", "x = 2", "", ["tests/unit/a.py"])
FAILED = "FAILED tests/unit/a.py::test_b[c d] - assert False\n1 failed in 1 s"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_it_applies(mutant):
    """A line that was rewritten takes its mutant with it: change the mutant too."""
    text = (mutate.ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutate.mutated(mutant, text) != text
    assert mutant.why
    for test in mutant.killed_by:
        if test.startswith("tests/"):
            assert (mutate.ROOT / test.partition("::")[0]).is_file()
            assert not test.startswith(mutate.GOLDEN)


def test_there_are_enough():
    assert len(MUTANTS) >= 25
    assert len([mutant for mutant in MUTANTS if mutant.short]) >= 12
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("y = 1\n", "x = 1", "x = 2", "occurs 0 times"),
        ("x = 1\nx = 1\n", "x = 1", "x = 2", "occurs 2 times"),
        ("x = 1\n", "x = 1", "x = 1", "exactly one line"),
        ("x = 1\n", "x = 1", "x = 2\ny = 3", "exactly one line"),
        ("x = 1\ny = 1\n", "x = 1\ny = 1", "x = 2\ny = 2", "exactly one line"),
    ],
)
def test_what_is_no_mutant(text, old, new, said):
    with pytest.raises(ValueError, match=said):
        mutate.mutated(mutate.Mutant("one", "a.py", old, new, "", []), text)


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "1 passed in 1 s", mutate.SURVIVED),
        (1, FAILED, mutate.KILLED),
        (1, "ERROR tests/unit/a.py::test_b - SyntaxError", mutate.KILLED),
        (1, "FAILED tests/golden/test_golden.py::test_c - assert", "killed by a golden comparison only"),
        (2, "ERROR tests/unit/a.py\n!!! Interrupted: 1 error during collection !!!", "its tests did not run"),
        (4, "ERROR: file or directory not found: tests/unit/a.py", "its tests did not run"),
        (5, "no tests ran in 1 s", "its tests did not run"),
        (-9, "", "its tests did not run"),
    ],
)
def test_judge(code, output, verdict):
    assert mutate.judge(code, output)[0] == verdict


def test_a_tree_is_as_it_was_after_a_mutant(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    seen = []

    def pytest_run(tree, tests):
        seen.append((tree.folder / "a.py").read_text(encoding="utf-8"))
        return mutate.subprocess.CompletedProcess([], 1, FAILED, "")

    monkeypatch.setattr(mutate, "pytest", pytest_run)
    result = mutate.try_one(mutate.Tree(tmp_path), ONE)
    assert (result.verdict, result.test, seen) == (mutate.KILLED, "tests/unit/a.py::test_b[c d]", ["x = 2\n"])
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "x = 1\n"
    gone = mutate.try_one(mutate.Tree(tmp_path), mutate.Mutant("two", "b.py", "x", "y", "", []))
    assert gone.verdict == "not applicable"


def test_no_compiled_file_is_taken_for_the_changed_one(tmp_path):
    """Same size, same second: only the stamp tells them apart."""
    tree = mutate.Tree(tmp_path)
    stamps = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        tree.put("a.py", text)
        stamps.append(int((Path(tmp_path) / "a.py").stat().st_mtime))
    assert len(set(stamps)) == 3


def test_two_of_one_id(tmp_path):
    entry = '[[mutant]]\nid = "a"\nfile = "f"\nold = "o"\nnew = "n"\nwhy = "w"\nkilled_by = []\n'
    (tmp_path / "t.toml").write_text(entry * 2, encoding="utf-8")
    with pytest.raises(ValueError, match="twice: a"):
        mutate.load(tmp_path / "t.toml")

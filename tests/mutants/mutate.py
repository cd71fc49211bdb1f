"""Change one line of what enforces the contract, and see a test fail: ``nox -s mutants``.

``mutants.toml`` holds the changes, each with the tests that must notice it. The tree is copied, once for
each of two workers; nothing in the tree itself is touched. A mutant is killed when one of its tests
fails, and that test is no golden comparison: those notice every change, right or wrong. Ends with 1 on a
mutant that survives, that does not apply, or that only keeps the tests from running.

``-- --short`` runs the ones marked ``short``; ``-- ID...`` runs some by id.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mutants.toml")
LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".nox", ".venv", ".bootstrap", ".*_cache", ".hypothesis", ".benchmarks"),
    *("dist", "__pycache__", "*.egg-info", "node_modules"),
)
WORKERS, SECONDS = 2, 300
MODULES = ("anvil_core", "anvil_generator", "anvil_runtime", "anvil_shims", "hookcore")
GOLDEN = "tests/golden/"
# They compare all bytes with ones that are written down, so they notice every change: no proof.
COMPARISONS = (GOLDEN, "tests/unit/core/test_catalog.py::test_the_exact_bytes")
KILLED, SURVIVED = "killed", "survived"
FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py)(?:::(.+?))?(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """One line of one file, changed. ``old`` may have lines around it, so that it occurs once."""

    id: str
    file: str
    old: str
    new: str
    why: str
    killed_by: list[str]
    short: bool = False


@dataclass(frozen=True)
class Result:
    verdict: str
    seconds: float
    test: str = ""
    output: str = ""


@dataclass
class Tree:
    """A copy of the project. ``stamps`` keeps compiled files from being taken for current ones."""

    folder: Path
    stamps: int = field(default=1)

    def put(self, file: str, text: str) -> None:
        path = self.folder / file
        path.write_text(text, encoding="utf-8", newline="")
        self.stamps += 10
        os.utime(path, (self.stamps, self.stamps))


def load(table: Path) -> list[Mutant]:
    found = [Mutant(**one) for one in tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]]
    names = [mutant.id for mutant in found]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(f"{table}: these ids stand twice: {', '.join(double)}")
    return found


def mutated(mutant: Mutant, text: str) -> str:
    """The text with exactly one line changed. Raises ValueError where the mutant does not apply."""
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"its old text occurs {count} times in {mutant.file}")
    old, new = mutant.old.splitlines(), mutant.new.splitlines()
    if len(old) != len(new) or sum(one != other for one, other in zip(old, new, strict=True)) != 1:
        raise ValueError("it does not change exactly one line")
    return text.replace(mutant.old, mutant.new)


def environment(tree: Tree) -> dict[str, str]:
    """With the copy's packages before those that are installed."""
    sources = sorted(str(path) for path in tree.folder.glob("packages/*/src"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}


def pytest(tree: Tree, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy against the packages of that copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line"]
    command += ["-p", "no:cacheprovider", *(f"--deselect={test}" for test in COMPARISONS)]
    return subprocess.run(
        [*command, *tests],
        cwd=tree.folder,
        env=environment(tree),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def judge(code: int, output: str) -> tuple[str, str]:
    """(verdict, the test that failed) of a run with a mutant."""
    if code == 0:
        return SURVIVED, ""
    failed = ["::".join(part for part in match if part) for match in FAILED_TEST.findall(output)]
    if code != 1 or not failed:
        return "its tests did not run", ""
    if failed[0].startswith(GOLDEN):
        return "killed by a golden comparison only", failed[0]
    return KILLED, failed[0]


def try_one(tree: Tree, mutant: Mutant) -> Result:
    began = time.monotonic()
    path = tree.folder / mutant.file
    try:
        text = path.read_text(encoding="utf-8")
        changed = mutated(mutant, text)
    except (OSError, ValueError) as error:
        return Result("not applicable", 0.0, output=str(error))
    tree.put(mutant.file, changed)
    try:
        done = pytest(tree, mutant.killed_by)
        verdict, test = judge(done.returncode, done.stdout)
        output = done.stdout[-1500:] + done.stderr[-500:]
    except subprocess.TimeoutExpired:
        verdict, test, output = f"no end within {SECONDS} seconds", "", ""
    finally:
        tree.put(mutant.file, text)
    return Result(verdict, time.monotonic() - began, test, output)


def passes(tree: Tree, tests: tuple[str, ...]) -> str:
    """Nothing, or what pytest says when the tests fail without any mutant."""
    done = pytest(tree, tests)
    return "" if done.returncode == 0 else f"{' '.join(tests)}\n{done.stdout[-3000:]}{done.stderr[-500:]}"


def is_the_copys(tree: Tree) -> str:
    """Nothing, or a module that does not come from the copy: then no mutant would be tested."""
    program = f"import {', '.join(MODULES)}\nprint(*(m.__file__ for m in ({', '.join(MODULES)})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tree.folder,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join(file for file in done.stdout.split() if not file.startswith(str(tree.folder)))


def in_trees(trees: list[Tree], work: Any, things: list[Any]) -> list[Any]:
    """What ``work(tree, thing)`` gives for each thing, on as many trees at once as there are."""
    free: Queue[Tree] = Queue()
    for tree in trees:
        free.put(tree)

    def one(thing: Any) -> Any:
        tree = free.get()
        try:
            return work(tree, thing)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(max_workers=len(trees)) as pool:
        return list(pool.map(one, things))


def run(mutants: list[Mutant], parent: Path) -> int:
    trees = [Tree(parent / str(number)) for number in range(WORKERS)]
    for tree in trees:
        shutil.copytree(ROOT, tree.folder, ignore=LEFT_OUT)
    foreign = is_the_copys(trees[0])
    if foreign:
        print(f"These would be tested instead of the copy's: {foreign}")
        return 1
    began = time.monotonic()
    whole = sorted({tuple(mutant.killed_by) for mutant in mutants})
    failing = [said for said in in_trees(trees, passes, whole) if said]
    if failing:
        print("These fail without any mutant:\n" + "\n".join(failing))
        return 1
    print(f"{len(whole)} sets of tests pass without a mutant ({time.monotonic() - began:.0f} s)", flush=True)

    def shown(tree: Tree, mutant: Mutant) -> Result:
        result = try_one(tree, mutant)
        by = f" by {result.test}" if result.test else ""
        print(f"{mutant.id:32} {result.verdict}{by} ({result.seconds:.1f} s)", flush=True)
        return result

    results = in_trees(trees, shown, mutants)
    bad = [
        (mutant, result) for mutant, result in zip(mutants, results, strict=True) if result.verdict != KILLED
    ]
    for mutant, result in bad:
        print(f"\n{mutant.id}: {result.verdict}. {mutant.why}\n  {mutant.file}\n  - {mutant.old.strip()}\n"
              f"  + {mutant.new.strip()}\n  {' '.join(mutant.killed_by)}\n{result.output}")  # fmt: skip
    print(f"{len(mutants) - len(bad)} of {len(mutants)} mutants killed, in {time.monotonic() - began:.0f} s")
    return 1 if bad or not mutants else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--short", action="store_true", help="only the ones marked short")
    parser.add_argument("--table", type=Path, default=TABLE)
    chosen = parser.parse_args(argv)
    mutants = load(chosen.table)
    unknown = sorted(set(chosen.ids) - {mutant.id for mutant in mutants})
    if unknown:
        parser.error(f"no such mutant: {', '.join(unknown)}")
    wanted = [
        mutant
        for mutant in mutants
        if (mutant.id in chosen.ids if chosen.ids else mutant.short or not chosen.short)
    ]
    with tempfile.TemporaryDirectory() as parent:
        return run(wanted, Path(parent).resolve())


if __name__ == "__main__":
    sys.exit(main())

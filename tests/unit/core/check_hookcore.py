"""The decision core on another interpreter: ``python3.9 -I tests/unit/core/check_hookcore.py``.

Runs the cases of ``tests/cases`` and looks up tools in catalogs of several sizes. Standard library
only, Python 3.9 or newer; prints ``N passed``, or what failed and ends with 1.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "packages" / "core" / "src")]

from support import decisions  # noqa: E402

import hookcore  # noqa: E402  # the interpreter under test has only this source folder

SIZES = (0, 1, 2, 3, 10, 1000)


def decide_results():
    known = decisions.entries()
    for case in decisions.table("decide.json")["cases"]:
        decision = decisions.decide_case(hookcore, case, known)
        yield case["name"], decisions.differences(decision, case)


def evaluate_results(folder):
    catalog = folder / "evaluate.json"
    catalog.write_bytes(decisions.catalog_bytes(decisions.entries().values(), preview="preview"))
    for case in decisions.table("evaluate.json")["cases"]:
        decision = hookcore.evaluate(str(catalog), case["tool"], case["args"], decisions.NOBODY)
        yield case["name"], decisions.differences(decision, case)


def find_results(folder):
    pattern = decisions.entries()["read_item"]
    for size in SIZES:
        catalog = folder / f"find-{size}.json"
        names = [f"tool_{number:04d}" for number in range(size)]
        catalog.write_bytes(decisions.catalog_bytes({**pattern, "tool": name} for name in names))
        for name in [*names, "", "a", "tool_", "tool_0000x", "z", "\ud800"]:
            decision = hookcore.evaluate(str(catalog), name, {}, decisions.NOBODY)
            expected = "pass" if name in names else "deny"
            wrong = [] if decision.verb == expected else [f"{decision.verb}, not {expected}"]
            yield f"find {name!r} among {size}", wrong


def digest_results():
    for vector in decisions.table("digests.json")["vectors"]:
        got = hookcore.digest(hookcore.loads(vector["json"]))
        yield vector["name"], [] if got == vector["sha256"] else [got]
    for refused in decisions.table("digests.json")["refused"]:
        yield refused["name"], [] if is_refused(refused["json"]) else ["not refused"]


def is_refused(text):
    try:
        hookcore.digest(hookcore.loads(text))
    except ValueError:
        return True
    return False


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = [
            *decide_results(),
            *evaluate_results(folder),
            *find_results(folder),
            *digest_results(),
        ]
    failed = [(name, wrong) for name, wrong in results if wrong]
    for name, wrong in failed:
        print(f"FAILED {name}: {'; '.join(wrong)}")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed on Python {version}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

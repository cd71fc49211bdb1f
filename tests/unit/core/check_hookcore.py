"""The decision core and the hooks on another interpreter: ``python3.9 -I tests/unit/core/check_hookcore.py``.

Runs the cases of ``tests/cases``, looks up tools in catalogs of several sizes, and starts each hook as
its harness does. Standard library only, Python 3.9 or newer; prints ``N passed``, or what failed and
ends with 1.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHIMS = ROOT / "packages" / "shims" / "src" / "anvil_shims"
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
        got = hookcore.digest("refund_payment", hookcore.loads(vector["json"]))
        yield vector["name"], [] if got == vector["sha256"] else [got]
    for refused in decisions.table("digests.json")["refused"]:
        yield refused["name"], [] if is_refused(refused["json"]) else ["not refused"]


def hook_results(folder):
    """Each hook as a process: the events and answers are data, one table for each harness."""
    for table in sorted(decisions.CASES.glob("hook-*.json")):
        harness = table.stem.partition("-")[2]
        root = folder / harness
        (root / "plugin" / harness).mkdir(parents=True)
        script = root / "plugin" / harness / "hook.py"
        shutil.copy(str(SHIMS / harness / "hook.py"), str(script))
        shutil.copy(hookcore.__file__, str(root / "plugin" / "hookcore.py"))
        catalog = decisions.catalog_bytes(decisions.entries().values(), preview="preview")
        (root / "catalog.json").write_bytes(catalog)
        cases = decisions.table(table.name)
        for case in cases["cases"]:
            command = [sys.executable, "-I", "-S", "-B", str(script), harness, *cases["arguments"]]
            command[-1] = str(folder / "state")
            done = subprocess.run(command, input=case["stdin"].encode(), capture_output=True, check=False)
            got = {"exit": done.returncode, "stdout": done.stdout.decode()}
            wanted = {key: case[key] for key in got}
            yield f"{harness}: {case['name']}", [] if got == wanted else [json.dumps(got)]


def is_refused(text):
    try:
        hookcore.digest("refund_payment", hookcore.loads(text))
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
            *hook_results(folder),
        ]
    failed = [(name, wrong) for name, wrong in results if wrong]
    for name, wrong in failed:
        print(f"FAILED {name}: {'; '.join(wrong)}")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed on Python {version}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

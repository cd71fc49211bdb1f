"""The proof that a bundle carries holds on ours, and finds what it is there to find.

The damage is done with the listed digests brought up to date, so that only the check in question can see it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.carried import lay_out_cache

from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.files import write_tree
from anvil_generator.project import open_project

pytestmark = pytest.mark.timeout(180)
ROOT = Path(__file__).parents[2]
EXAMPLES = ("payments", "paypal-payments", "notion")
CHECKS = 5


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("proved")
    for name in EXAMPLES:
        compiled = compile_project(open_project(ROOT / "examples" / name))
        write_tree(parent / name, {file.path: file.data for file in plan(compiled)})
    return {name: parent / name for name in EXAMPLES}


@pytest.fixture(scope="module")
def cache(bundles, tmp_path_factory) -> Path:
    return lay_out_cache(bundles["payments"], tmp_path_factory.mktemp("cache"))


@pytest.fixture
def copy(bundles, tmp_path) -> Path:
    return Path(shutil.copytree(bundles["payments"], tmp_path / "bundle"))


def verify(bundle: Path, cache: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "anvil_generator",
        "verify",
        str(bundle),
        "--cache",
        str(cache),
        *options,
    ]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def change(bundle: Path, name: str, old: str, new: str, *, count: int = -1) -> None:
    """Another text in one of its files, which the bundle's list then knows."""
    file, facts = bundle / name, bundle / "bundle.json"
    text = file.read_text(encoding="utf-8")
    assert old in text, (name, old)
    file.write_text(text.replace(old, new, count), encoding="utf-8")
    said = json.loads(facts.read_text(encoding="utf-8"))
    said["files"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
    facts.write_text(json.dumps(said), encoding="utf-8")


@pytest.mark.invariant("I2")
@pytest.mark.invariant("I5")
@pytest.mark.parametrize("name", EXAMPLES)
def test_it_holds_on_ours(name, bundles, cache):
    before = sorted(path for path in bundles[name].rglob("*"))
    done = verify(bundles[name], cache)
    assert (done.returncode, done.stdout.count("ok  "), "FAILED" in done.stdout) == (0, CHECKS, False)
    assert sorted(path for path in bundles[name].rglob("*")) == before, "it wrote into the bundle"


RINGS, OTHERS = "hooks and server refuse the same calls", "the hooks leave other tools alone"
SERVED, CATALOG = "served is approved", "the catalog is the one that its digest names"
CORE, GATES = "plugin/hookcore.py", "mcp/lib/anvil_runtime/gates.py"
# What is done to which file: (file, text, other text), the check that must see it, and its words.
DAMAGE = {
    "a hook that asks for no confirmation": (
        (CORE, "and not human and args.get(name) is not True:", "and False:"),
        RINGS,
        "passes, the server says confirmation_required",
    ),
    "a hook that refuses what is whole": (
        (
            CORE,
            "return Decision(PASS, context=context_line(entry))",
            "return deny('unknown_operation', tool)",
        ),
        RINGS,
        "refuses, the server sends 1",
    ),
    "a hook that allows": (
        ("plugin/claude/hook.py", 'permissionDecision="deny"', 'permissionDecision="allow"'),
        RINGS,
        "a hook never grants",
    ),
    "a hook that refuses other tools": (
        ("plugin/codex/hook.py", '["tool_name"]', '["tool_name"] and "mcp__payments__get_payment"'),
        OTHERS,
        "",
    ),
    "a server that serves what nobody approved": (
        ("mcp/lib/anvil_runtime/listing.py", 'if one.state == "approved"', "if one.state"),
        SERVED,
        "",
    ),
    "a server that asks for no key": (
        (GATES, '"idempotency_key_required" if operation.idempotency.mode == "required" else None', "None"),
        RINGS,
        "refuses, the server sends",
    ),
    "a catalog changed by hand": (
        ("catalog.json", '"human_approval": false', '"human_approval": true'),
        CATALOG,
        "",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_it_finds(name, copy, cache):
    (file, old, new), check, words = DAMAGE[name]
    change(copy, file, old, new)
    done = verify(copy, cache, "--calls", "120", "--json")
    said = json.loads(done.stdout)
    found = {one["check"]: one["found"] for one in said["checks"] if not one["ok"]}
    assert (done.returncode, said["ok"]) == (1, False)
    assert words in found[check]


def test_it_finds_a_changed_file(copy, cache):
    (copy / "README.md").write_text("other", encoding="utf-8")
    done = verify(copy, cache, "--calls", "1")
    assert done.returncode == 1
    assert "FAILED  the files are as the compiler wrote them" in done.stdout
    assert "README.md" in done.stdout


def test_a_folder_that_is_no_bundle(tmp_path, cache):
    done = verify(tmp_path, cache)
    assert done.returncode == 2
    assert "no bundle" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_does_not_start_is_a_failure_with_its_words(copy, cache):
    unknown = "import nothing_of_this_name"
    change(copy, "mcp/lib/anvil_runtime/server.py", "import json\n", f"import json\n{unknown}\n", count=1)
    done = verify(copy, cache)
    assert done.returncode == 1
    assert "the server ended with exit code" in done.stdout
    assert "nothing_of_this_name" in done.stderr


def test_pytest_runs_it_too(bundles):
    """As whoever has the bundle would start it; collected here, run above."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    command.append(str(bundles["payments"] / "tests"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("::test_") == CHECKS

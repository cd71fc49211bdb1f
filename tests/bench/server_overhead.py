"""What the carried server costs: from its start to the list of its tools, and on each call.

``nox -s bench``. The same document is served by the bundle's own server and by FastMCP, both over standard
input and output, in the same environment and taking turns; a call is compared with the same request made
directly with the same HTTP client. Prints medians and ratios, writes them to ``dist/bench/server.json``,
warns over the targets and never fails.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx2
from support.carried import lay_out_cache

from anvil_generator.conformance.bundle_rings import PROTOCOL, Api

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
SIZES = (20, 1_000)
STARTS, CALLS = 7, 200
LIST_TARGET, CALL_TARGET = 0.7, 1.0


def document(size: int) -> dict[str, Any]:
    """An API of ``size`` operations, each a read with a path, a query and an answer of an object."""
    text, number = {"type": "string"}, {"type": "integer"}
    answer = {"type": "object", "properties": {"id": text, "name": text, "count": number}}
    content = {"application/json": {"schema": answer}}
    paths = {}
    for at in range(size):
        parameters = [
            {"name": "id", "in": "path", "required": True, "schema": text, "description": "Which one."},
            {"name": "limit", "in": "query", "schema": {**number, "minimum": 1, "maximum": 100}},
        ]
        paths[f"/things{at}/{{id}}"] = {
            "get": {
                "operationId": f"getThing{at}",
                "summary": f"Show thing number {at}",
                "parameters": parameters,
                "responses": {"200": {"description": "The thing.", "content": content}},
            }
        }
    info = {"title": "Shop", "version": "1.0.0"}
    servers = [{"url": "https://shop.example"}]
    return {"openapi": "3.1.0", "info": info, "servers": servers, "paths": paths}


def compile_bundle(folder: Path, size: int) -> Path:
    """The bundle of the document, every read approved."""
    project, bundle = folder / f"project-{size}", folder / f"bundle-{size}"
    project.mkdir()
    (project / "openapi.json").write_text(json.dumps(document(size)), encoding="utf-8")
    (project / "anvil.yaml").write_text("document: openapi.json\nservice: shop\n", encoding="utf-8")
    anvil = [sys.executable, "-m", "anvil_generator"]
    for command in (["approve", "--reads", "--by", "bench"], ["compile", "--out", str(bundle)]):
        subprocess.run([*anvil, command[0], str(project), *command[1:]], check=True, capture_output=True)
    return bundle


class Session:
    """A server as a process, spoken to line by line."""

    def __init__(self, command: Sequence[str], folder: Path, api: str) -> None:
        environ = {**os.environ, "ANVIL_BASE_URL": api}
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nothing, cwd=folder, env=environ
        )
        self.number = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tell(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        self.tell({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"a server ended: {self.process.args}")
            said = json.loads(line)
            if said.get("id") == self.number:
                return said["result"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def start_to_list(command: Sequence[str], folder: Path, api: str, size: int) -> float:
    """Seconds from the start of the process to the list of its tools."""
    begun = time.perf_counter()
    session = Session(command, folder, api)
    tools = session.ask("tools/list", {})["tools"]
    took = time.perf_counter() - begun
    session.close()
    if len(tools) < size:
        raise SystemExit(f"{len(tools)} tools are listed, not {size}")
    return took


def call(session: Session, tool: str) -> Callable[[], None]:
    def made() -> None:
        result = session.ask("tools/call", {"name": tool, "arguments": {"id": "4711", "limit": 5}})
        if result.get("isError"):
            raise SystemExit(f"{tool}: {result}")

    return made


def timed(calls: dict[str, Callable[[], None]], times: int) -> dict[str, float]:
    """Median seconds of each, all taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(times + 20):
        for name, one in calls.items():
            begun = time.perf_counter()
            one()
            if turn >= 20:
                taken[name].append(time.perf_counter() - begun)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def measure_calls(commands: dict[str, list[str]], folder: Path, api: Api, times: int) -> dict[str, float]:
    names = {"anvil": "get_thing0", "fastmcp": "getThing0"}
    with ExitStack() as stack, httpx2.Client(trust_env=False) as client:
        calls: dict[str, Callable[[], None]] = {
            "direct": lambda: client.get(f"{api.url}/things0/4711?limit=5").raise_for_status() and None
        }
        for name, command in commands.items():
            session = Session(command, folder, api.url)
            stack.callback(session.close)
            tools = [tool["name"] for tool in session.ask("tools/list", {})["tools"]]
            if names[name] not in tools:
                raise SystemExit(f"{name} lists no {names[name]}: {tools[:5]}")
            calls[name] = call(session, names[name])
        return timed(calls, times)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--out", type=Path, default=Path("dist/bench/server.json"))
    said = parser.parse_args(argv)
    record: dict[str, Any] = {"starts": said.starts, "calls": said.calls}
    with tempfile.TemporaryDirectory() as made, Api() as api:
        folder = Path(made)
        (folder / "work").mkdir()
        for size in SIZES:
            bundle = compile_bundle(folder, size)
            cache = folder / f"cache-{size}"
            cache.mkdir()
            lay_out_cache(bundle, cache)
            server = [sys.executable, "-I", str(bundle / "mcp/server.py"), "--cache", str(cache)]
            described = str(folder / f"project-{size}" / "openapi.json")
            commands = {
                "anvil": [*server, "--state", str(folder / "state"), "serve"],
                "fastmcp": [sys.executable, str(HERE / "fastmcp_server.py"), described, api.url],
            }
            taken: dict[str, list[float]] = {name: [] for name in commands}
            for turn in range(said.starts + 1):  # the first one of each writes its bytecode
                for name, command in commands.items():
                    seconds = start_to_list(command, folder / "work", api.url, size)
                    if turn:
                        taken[name].append(seconds)
            medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
            ratio = medians["anvil"] / medians["fastmcp"]
            record[f"start to list, {size} tools"] = {**medians, "ratio": ratio}
            per_call = measure_calls(commands, folder / "work", api, said.calls)
            over = {name: per_call[name] - per_call["direct"] for name in commands}
            ratio = over["anvil"] / over["fastmcp"]
            record[f"call, {size} tools"] = {**per_call, "overhead": over, "ratio": ratio}
    said.out.parent.mkdir(parents=True, exist_ok=True)
    said.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    tell(record)
    return 0


def tell(record: dict[str, Any]) -> None:
    for size in SIZES:
        start, call_ = record[f"start to list, {size} tools"], record[f"call, {size} tools"]
        over = call_["overhead"]
        print(
            f"{size:>5} tools, start to list: {start['anvil']:.3f} s, "
            f"FastMCP {start['fastmcp']:.3f} s, ratio {start['ratio']:.2f}"
        )
        print(
            f"{size:>5} tools, a call over {call_['direct'] * 1e3:.2f} ms direct: "
            f"{over['anvil'] * 1e3:.2f} ms, "
            f"FastMCP {over['fastmcp'] * 1e3:.2f} ms, ratio {call_['ratio']:.2f}"
        )
        if call_["ratio"] > CALL_TARGET:
            print(f"warning: the overhead of a call is over FastMCP's at {size} tools")
    if record[f"start to list, {SIZES[-1]} tools"]["ratio"] > LIST_TARGET:
        print(f"warning: start to list at {SIZES[-1]} tools is over {LIST_TARGET} of FastMCP's")


if __name__ == "__main__":
    sys.exit(main())

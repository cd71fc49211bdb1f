"""What a compile costs: GitHub's document as a whole process, FastMCP beside it, and the curve to 10,000.

``nox -s bench -- compile``. Commands take turns; medians of the seconds by the clock
and of the processor, which a busy machine changes less, and the largest memory. FastMCP
makes the tools of the same document and lists them, with no contract, no catalog and no bundle. Prints,
writes ``dist/bench/compile.json``, warns over the targets and never fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import library
from corpus.measure import compile_bundle, run

HERE = Path(__file__).parent
SIZES = (100, 300, 1_000, 3_000, 10_000)
TURNS = 5
TARGETS = {"seconds": 3.0, "megabytes": 400.0, "bundle_megabytes": 12.0}
MOST_PER_OPERATION = 1.5  # times what the size before needs


def document(size: int) -> dict[str, Any]:
    """An API of ``size`` operations in resources of four, each with schemas of its own and shared ones."""
    shared = {"$ref": "#/components/schemas/Error"}
    schemas: dict[str, Any] = {"Error": {"type": "object", "properties": {"code": {"type": "string"}}}}
    paths: dict[str, Any] = {}
    for at in range(size // 4):
        name, ref = f"Thing{at}", {"$ref": f"#/components/schemas/Thing{at}"}
        schemas[name] = {
            "type": "object",
            "properties": {"id": {"type": "string"}, "of": ref, "error": shared, "n": {"type": "integer"}},
            "required": ["id"],
        }
        content = {"application/json": {"schema": ref}}
        answer = {"responses": {"200": {"description": "The thing.", "content": content}}}
        one = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        limit = {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}
        body = {"requestBody": {"required": True, "content": content}}

        def operation(verb: str, name: str = name, **parts: Any) -> dict[str, Any]:
            return {"operationId": f"{verb}{name}", "summary": f"{verb} a {name}", "tags": [name], **parts}

        paths[f"/things{at}"] = {
            "get": operation("list", parameters=[limit], **answer),
            "post": operation("create", **body, **answer),
        }
        paths[f"/things{at}/{{id}}"] = {
            "parameters": [one],
            "get": operation("get", **answer),
            "delete": operation("delete", **answer),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def large(folder: Path, turns: int, fastmcp: str) -> dict[str, Any]:
    """GitHub's document: compiled, and listed by FastMCP, in turn."""
    path = library.entries()["github"].file()
    ours, theirs = [], []
    for turn in range(turns):
        ours.append(compile_bundle(path, folder / f"github{turn}"))
        theirs.append(run(fastmcp, str(HERE / "fastmcp_listing.py"), str(path)))
    return {
        "anvil": {
            "seconds": statistics.median(cost.seconds for cost in ours),
            "processor": statistics.median(cost.processor for cost in ours),
            "megabytes": max(cost.megabytes for cost in ours),
            "bundle_megabytes": ours[0].size / 1_000_000,
        },
        "fastmcp": {
            "seconds": statistics.median(seconds for seconds, _, _ in theirs),
            "processor": statistics.median(processor for _, processor, _ in theirs),
            "megabytes": max(megabytes for _, _, megabytes in theirs),
        },
    }


def curve(folder: Path, turns: int) -> dict[str, dict[str, float]]:
    """Seconds, memory and bundle of documents of growing size."""
    made = {}
    for size in SIZES:
        path = folder / f"things{size}.json"
        path.write_text(json.dumps(document(size)), encoding="utf-8")
        costs = [compile_bundle(path, folder / f"bundle{size}-{turn}") for turn in range(turns)]
        made[str(size)] = {
            "seconds": statistics.median(cost.seconds for cost in costs),
            "processor": statistics.median(cost.processor for cost in costs),
            "megabytes": max(cost.megabytes for cost in costs),
            "bundle_megabytes": costs[0].size / 1_000_000,
        }
    return made


def tell(record: dict[str, Any]) -> None:
    for name, cost in record["github"].items():
        print(f"GitHub, {name:<8}", ", ".join(f"{value:.2f} {what}" for what, value in cost.items()))
    for what, target in TARGETS.items():
        if record["github"]["anvil"][what] > target:
            print(f"warning: more than {target:.0f} {what}", file=sys.stderr)
    start = record["curve"][str(SIZES[0])]["processor"]
    for size, cost in record["curve"].items():
        print(f"{size:>6} operations", ", ".join(f"{value:.2f} {what}" for what, value in cost.items()))
    slopes = {
        size: (record["curve"][str(size)]["processor"] - start) / (size - SIZES[0]) * 1000
        for size in SIZES[1:]
    }
    print(
        "processor milliseconds for each more:",
        ", ".join(f"{slope:.2f} to {size}" for size, slope in slopes.items()),
    )
    if slopes[SIZES[-1]] > MOST_PER_OPERATION * slopes[SIZES[-2]]:
        print("warning: time does not grow linearly", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--fastmcp", default=sys.executable, help="a Python that has FastMCP")
    parser.add_argument("--out", type=Path, default=Path("dist/bench/compile.json"))
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        record = {
            "github": large(Path(name), said.turns, said.fastmcp),
            "curve": curve(Path(name), min(said.turns, 3)),
        }
    said.out.parent.mkdir(parents=True, exist_ok=True)
    said.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    tell(record)
    return 0


if __name__ == "__main__":
    sys.exit(main())

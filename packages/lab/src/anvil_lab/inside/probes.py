"""Acts out rows of probes and prints what was observed, one line of JSON for each row.

    python3 -m anvil_lab.inside.probes HARNESS ROWS_FILE [WORKERS]

Each row has a home, a project and a plugin of its own, which are gone when the next one starts. A row that
could not be acted out is tried once more; if that fails too, its only fact is the error.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import probe_claude, probe_codex
from anvil_lab.inside.probe_evidence import FACETS, Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
ACTORS: dict[str, Callable[[Json, Path], Evidence]] = {
    "claude": probe_claude.act_out,
    "codex": probe_codex.act_out,
}


def observe(harness: str, row: Json, folder: Path) -> Json:
    began = time.monotonic()
    evidence = Evidence(error="not tried")
    for _ in range(2):
        root = folder / row["id"]
        try:
            evidence = ACTORS[harness](row, root)
        except Exception as error:  # noqa: BLE001 - the other rows go on; this one has no fact but that
            evidence = Evidence(error=f"{type(error).__name__}: {error}")
        shutil.rmtree(root, ignore_errors=True)
        if evidence.error is None:
            break
    facts: Json = {"error": evidence.error}
    if evidence.error is None:
        facts = {name: FACETS[name](evidence) for name in row["observe"]}
    seconds = round(time.monotonic() - began, 2)
    return {"id": row["id"], "facts": facts, "version": evidence.version, "seconds": seconds}


def main(harness: str, rows: str, workers: str = "3") -> None:
    listed = json.loads(Path(rows).read_text(encoding="utf-8"))
    with ThreadPoolExecutor(int(workers)) as pool:
        folder = Path.home() / "probes"
        for line in pool.map(lambda row: json.dumps(observe(harness, row, folder)), listed):
            print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""``nox -s corpus``: every document compiled and checked, its counts compared with ``counts.json``.

``--update`` writes the counts; ``--write`` also measures a whole compile of each and writes the table of
``docs/reference/corpus.md``. Names of documents run those alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import checks, library, table
from corpus.measure import compile_bundle

from anvil_generator.compiler import compile_project
from anvil_generator.project import open_project

if TYPE_CHECKING:
    from corpus.library import Entry
    from corpus.measure import Cost

COUNTS = library.HERE / "counts.json"


def check(entry: Entry, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The counts of one document, and all complaints about it."""
    path = entry.file()
    compiled = compile_project(open_project(entry.project(folder / "plain")))
    complaints = [
        *checks.accounting(compiled, path),
        *checks.schemas(compiled),
        *checks.tool_names(compiled),
    ]
    for seed in (1, 2):
        other = folder / f"{entry.name}.json"
        other.write_text(checks.shuffled(path, seed), encoding="utf-8")
        mixed = compile_project(open_project(entry.project(folder / f"mixed{seed}", other)))
        complaints += checks.same_contract(compiled, mixed)
    return checks.counts(compiled), complaints


def twice(entry: Entry, folder: Path) -> tuple[Cost, list[str]]:
    """What a whole compile costs, the cheaper of two, and whether both wrote the same bytes."""
    target = entry.project(folder / "whole")
    one, other = (compile_bundle(target, folder / f"bundle{seed}", seed) for seed in (1, 2))
    complaints = [] if one.digest == other.digest else ["two compiles wrote different bytes"]
    return min(one, other, key=lambda cost: cost.processor), complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *library.entries()])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    costs: dict[str, Cost] = {}
    wrong = 0
    for name, entry in library.entries().items():
        if options.names and name not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found, complaints = check(entry, Path(folder))
            costs[name], more = twice(entry, Path(folder))
        complaints += more
        if not (options.update or options.write) and known.get(name) != found:
            complaints.append(f"counts changed: {known.get(name)} -> {found}; look, then run with --update")
        known[name] = found
        print(table.row(name, found, costs[name]), flush=True)
        for complaint in complaints:
            print(f"  {name}: {complaint}", file=sys.stderr)
        wrong += len(complaints)
    if options.update or options.write:
        COUNTS.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if options.write:
        table.write(known, costs)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

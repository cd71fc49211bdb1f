"""Contract records.

python -m anvil_lab.contract record HARNESS [VERSION] [--out FILE]
python -m anvil_lab.contract compare OLD NEW [--json]
python -m anvil_lab.contract watch HARNESS --out FOLDER

`compare` and `watch` end with 3 where a fact has changed that the harness's contract relies on. Every command
ends with 1 where it failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from anvil_lab import pins
from anvil_lab.contract import compare, integrity, record, recorder, relied, rows, watch
from anvil_lab.errors import LabError

DRIFT = 3


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    try:
        root = pins.find_images().parent
        if given.verb == "record":
            return _record(root, given.harness, given.version, given.out)
        if given.verb == "compare":
            return _compare(root, given.old, given.new, as_json=given.json)
        found = watch.watch(root, given.harness, given.out)
    except LabError as error:
        print(f"anvil_lab.contract: {error}", file=sys.stderr)
        return 1
    print((given.out / "comparison.md").read_text(encoding="utf-8"))
    return DRIFT if found.breaking else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m anvil_lab.contract", description="Contract records.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="record a version, the pinned one by default")
    recording.add_argument("harness")
    recording.add_argument("version", nargs="?")
    recording.add_argument(
        "--out", type=Path, help="file to write instead of contracts/<harness>/<version>.json"
    )
    comparing = verbs.add_parser("compare", help="say what differs between two records")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--json", action="store_true")
    watching = verbs.add_parser("watch", help="record the newest version and compare it with the pinned one")
    watching.add_argument("harness")
    watching.add_argument("--out", type=Path, required=True)
    return parser


def _record(root: Path, harness: str, version: str | None, out: Path | None) -> int:
    began = time.monotonic()
    pinned = pins.load(root / pins.FOLDER).of(harness)
    lock = integrity.place(root, harness)
    known = integrity.read(lock)
    pin = integrity.resolve(pinned, version or pinned.version, known)
    made = recorder.record(harness, pin, root / pins.FOLDER)
    target = out or record.place(root, harness, pin.version)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(made.record.text(), encoding="utf-8")
    if out is None and known.get(pin.version) != pin.integrity:
        integrity.write(lock, {**known, pin.version: pin.integrity})
    for name, seconds in sorted(made.seconds.items(), key=lambda item: -item[1]):
        print(f"{seconds:6.2f} s  {name}")
    for name, error in made.record.errors.items():
        print(f"not acted out: {name}: {error}")
    for line in relied.broken(made.record, relied.load(root, harness)):
        print(f"the contract does not hold: {line}")
    seconds = time.monotonic() - began
    print(f"{len(made.record.facts)} probes, {len(made.record.leaves())} facts, {seconds:.0f} s: {target}")
    return 0


def _compare(root: Path, old: Path, new: Path, *, as_json: bool) -> int:
    first, second = record.read(old), record.read(new)
    if first.harness != second.harness:
        raise LabError(f"{old} is of {first.harness}, {new} of {second.harness}")
    found = compare.compare(first, second, relied.load(root, second.harness))
    says = {probe.id: probe.says for probe in rows.load(second.harness)}
    print(json.dumps(found.as_json(), indent=1) if as_json else found.markdown(says))
    return DRIFT if found.breaking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

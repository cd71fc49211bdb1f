"""Contract records.

python -m anvil_lab.contract record HARNESS [VERSION] [--only ROW...] [--out FILE]
python -m anvil_lab.contract compare OLD NEW [--only ROW...] [--bisect] [--json]
python -m anvil_lab.contract watch HARNESS --out FOLDER [--open-pr-body FILE]
python -m anvil_lab.contract bump HARNESS FOLDER
python -m anvil_lab.contract docs [--check]

`compare` and `watch` end with 3 where a fact has changed that the harness's contract relies on. Every command
ends with 1 where it failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from anvil_lab import files, pins
from anvil_lab.contract import bump, compare, integrity, message, page, record, recorder, relied, rows, watch
from anvil_lab.errors import LabError

DRIFT = 3


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    verbs = {"record": _record, "compare": _compare, "watch": _watch, "bump": _bump, "docs": _docs}
    try:
        return verbs[given.verb](pins.find_images().parent, given)
    except LabError as error:
        print(f"anvil_lab.contract: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m anvil_lab.contract", description="Contract records.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="record a version, the pinned one by default")
    recording.add_argument("harness")
    recording.add_argument("version", nargs="?")
    recording.add_argument("--only", nargs="+", metavar="ROW", default=(), help="these probes; needs --out")
    recording.add_argument(
        "--out", type=Path, help="file to write instead of contracts/<harness>/<version>.json"
    )
    comparing = verbs.add_parser("compare", help="say what differs between two records")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--bisect", action="store_true", help="name the version of each difference")
    comparing.add_argument("--only", nargs="+", metavar="ROW", default=(), help="the facts of these probes")
    comparing.add_argument("--json", action="store_true")
    watching = verbs.add_parser("watch", help="record the newest version and compare it with the pinned one")
    watching.add_argument("harness")
    watching.add_argument("--out", type=Path, required=True)
    watching.add_argument("--open-pr-body", type=Path, help="file for the text of a pin or of an issue")
    bumping = verbs.add_parser("bump", help="pin the version that a watch has recorded; runs no program")
    bumping.add_argument("harness")
    bumping.add_argument("folder", type=Path, help="the folder that the watch has written")
    writing = verbs.add_parser(
        "docs", help="write what is made from the records: the page, and verified.json"
    )
    writing.add_argument("--check", action="store_true", help="write nothing; end with 1 where one is old")
    return parser


def _record(root: Path, given: argparse.Namespace) -> int:
    began = time.monotonic()
    harness, out = given.harness, given.out
    if given.only and out is None:
        raise LabError("a part of a record is not committed: say where it goes with --out")
    unknown = set(given.only) - {probe.id for probe in rows.load(harness)}
    if unknown:
        raise LabError(f"{harness} has no probe {', '.join(sorted(unknown))}")
    pinned = pins.load(root / pins.FOLDER).of(harness)
    lock = integrity.place(root, harness)
    known = integrity.read(lock)
    pin = integrity.resolve(pinned, given.version or pinned.version, known)
    made = recorder.record(harness, pin, root / pins.FOLDER, only=given.only)
    target = out or record.place(root, harness, pin.version)
    files.write(target, made.record.text())
    if out is None and known.get(pin.version) != pin.integrity:
        integrity.write(lock, {**known, pin.version: pin.integrity})
    for name, seconds in sorted(made.seconds.items(), key=lambda item: -item[1]):
        print(f"{seconds:6.2f} s  {name}")
    for name, error in made.record.errors.items():
        print(f"not acted out: {name}: {error}")
    wanted = relied.load(root, harness)
    if given.only:
        wanted = {path: value for path, value in wanted.items() if path.split(":", 1)[0] in given.only}
    for line in relied.broken(made.record, wanted):
        print(f"the contract does not hold: {line}")
    seconds = time.monotonic() - began
    print(f"{len(made.record.facts)} probes, {len(made.record.leaves())} facts, {seconds:.0f} s: {target}")
    return 0


def _compare(root: Path, given: argparse.Namespace) -> int:
    first, second = (record.read(path).part(given.only) for path in (given.old, given.new))
    if first.harness != second.harness:
        raise LabError(f"{given.old} is of {first.harness}, {given.new} of {second.harness}")
    found = compare.compare(first, second, relied.load(root, second.harness))
    if given.bisect:
        found = watch.dated(root, first, found)
    says = {probe.id: probe.says for probe in rows.load(second.harness)}
    print(json.dumps(found.as_json(), indent=1) if given.json else found.markdown(says))
    return DRIFT if found.breaking else 0


def _watch(root: Path, given: argparse.Namespace) -> int:
    began = time.monotonic()
    found = watch.watch(root, given.harness, given.out)
    print((given.out / "comparison.md").read_text(encoding="utf-8"))
    if given.open_pr_body is not None:
        says = {probe.id: probe.says for probe in rows.load(found.harness)}
        files.write(given.open_pr_body, message.body(found, says))
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    return DRIFT if found.breaking else 0


def _bump(root: Path, given: argparse.Namespace) -> int:
    pinned = bump.bump(root, given.harness, given.folder)
    print(f"{given.harness}: {f'{pinned} is pinned now' if pinned else 'the pin is the newest'}")
    return 0


def _docs(root: Path, given: argparse.Namespace) -> int:
    old = [path for path, text in page.files(root) if not _is(path, text)]
    if given.check and old:
        names = ", ".join(str(path.relative_to(root)) for path in old)
        raise LabError(f"older than the records: {names}. Run `nox -s docs` and commit what it writes")
    for path, text in page.files(root):
        if path in old:
            files.write(path, text)
            print(path)
    return 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Records the newest published version and compares it with the committed record of the pinned one.

Of each difference it names the version that it came with.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from anvil_lab import files, pins
from anvil_lab.contract import integrity, message, npm, record, recorder, relied, rows
from anvil_lab.contract.bisect import Steps, bisect
from anvil_lab.contract.compare import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anvil_lab.pins import HarnessPin


def resolve(root: Path, harness: str) -> HarnessPin:
    """The newest version with the digest that npm names for it, checked against what is known of it."""
    pinned = pins.load(root / pins.FOLDER).of(harness)
    known = integrity.read(integrity.place(root, harness))
    return integrity.resolve(pinned, npm.newest(pinned.package), known, ask=True)


def watch(
    root: Path, harness: str, out: Path, *, only: Sequence[str] = (), planted: Path | None = None
) -> Comparison:
    """`out` receives the new record and the comparison, as Markdown and as JSON.

    Tests choose rows with `only`, and plant a change before the program.
    """
    pinned = pins.load(root / pins.FOLDER).of(harness)
    committed = record.read(record.place(root, harness, pinned.version)).part(only)
    newest = resolve(root, harness)
    made = recorder.record(harness, newest, root / pins.FOLDER, only=only, planted=planted)
    for name, seconds in sorted(made.seconds.items(), key=lambda item: -item[1])[:5]:
        _say(f"{seconds:6.2f} s  {name}")
    _say(f"{sum(made.seconds.values()) / len(made.seconds):6.2f} s  for a probe, of {len(made.seconds)}")
    return write(root, committed, made.record, out)


def dated(root: Path, old: record.Record, found: Comparison) -> Comparison:
    """Each change with the version that it came with; npm is asked only where versions may lie between."""
    if not found.changes or found.old == found.new:
        return found
    return bisect(old, found, _steps(root, found))


def _steps(root: Path, found: Comparison) -> Steps:
    harness, images = found.harness, root / pins.FOLDER
    pinned = pins.load(images).of(harness)
    lowest, highest = integrity.order(found.old), integrity.order(found.new)
    published = sorted(npm.versions(pinned), key=integrity.order)
    digests = integrity.read(integrity.place(root, harness))

    def known(version: str) -> record.Record | None:
        path = record.place(root, harness, version)
        return record.read(path) if path.is_file() else None

    def some(version: str, wanted: Sequence[str]) -> record.Record:
        pin = integrity.resolve(pinned, version, digests)
        return recorder.record(harness, pin, images, only=wanted).record

    between = [version for version in published if lowest < integrity.order(version) < highest]
    return Steps(between, known, some, _say)


def write(root: Path, old: record.Record, new: record.Record, out: Path) -> Comparison:
    says = {probe.id: probe.says for probe in rows.load(new.harness)}
    found = dated(root, old, compare(old, new, relied.load(root, new.harness)))
    for old_record in out.glob("*.json"):
        old_record.unlink()  # of an earlier watch
    files.write(out / f"{new.version}.json", new.text())
    files.write(
        out / "comparison.json",
        json.dumps({**found.as_json(), "action": message.action(found)}, indent=1) + "\n",
    )
    files.write(out / "comparison.md", found.markdown(says))
    return found


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

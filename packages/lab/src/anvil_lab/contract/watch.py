"""Records the newest published version and compares it with the committed record of the pinned one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anvil_lab import pins
from anvil_lab.contract import integrity, npm, record, recorder, relied, rows
from anvil_lab.contract.compare import Comparison, compare

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.pins import HarnessPin


def resolve(root: Path, harness: str) -> HarnessPin:
    """The newest version with the digest that npm names for it, checked against what is known of it."""
    pinned = pins.load(root / pins.FOLDER).of(harness)
    known = integrity.read(integrity.place(root, harness))
    return integrity.resolve(pinned, npm.newest(pinned.package), known, ask=True)


def watch(root: Path, harness: str, out: Path, *, planted: Path | None = None) -> Comparison:
    """`out` receives the new record and the comparison, as Markdown and as JSON."""
    pinned = pins.load(root / pins.FOLDER).of(harness)
    committed = record.read(record.place(root, harness, pinned.version))
    newest = resolve(root, harness)
    made = recorder.record(harness, newest, root / pins.FOLDER, planted=planted)
    return write(root, committed, made.record, out)


def write(root: Path, old: record.Record, new: record.Record, out: Path) -> Comparison:
    says = {probe.id: probe.says for probe in rows.load(new.harness)}
    found = compare(old, new, relied.load(root, new.harness))
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{new.version}.json").write_text(new.text(), encoding="utf-8")
    (out / "comparison.json").write_text(json.dumps(found.as_json(), indent=1) + "\n", encoding="utf-8")
    (out / "comparison.md").write_text(found.markdown(says), encoding="utf-8")
    return found

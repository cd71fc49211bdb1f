"""Raises the pin of a harness to the version that a watch has recorded: pin, record, lock and changelog.

No program is run for it. What was recorded is looked at once more, and refused where anything that is relied
on does not hold, where it has other probes than this checkout, or where npm names other bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anvil_lab import files, pins
from anvil_lab.contract import integrity, record, relied, rows, verified
from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_lab.pins import HarnessPin

CHANGELOG = "CHANGELOG.md"


def bump(root: Path, harness: str, watched: Path) -> str | None:
    """The version that is pinned now; None where it was pinned before. `watched` is a watch's folder."""
    pinned = pins.load(root / pins.FOLDER).of(harness)
    new = _recorded(harness, watched)
    if new.version == pinned.version:
        return None
    if integrity.order(new.version) < integrity.order(pinned.version):
        raise LabError(f"{new.version} is older than {pinned.version}, which is pinned")
    lock = integrity.place(root, harness)
    known = integrity.read(lock)
    pin = integrity.resolve(pinned, new.version, known, ask=True)
    if pin.integrity != new.integrity:
        raise LabError(f"{new.version} was recorded from other bytes than those that npm names")
    _check(root, new)
    files.write(record.place(root, harness, new.version), new.text())
    integrity.write(lock, {**known, new.version: new.integrity})
    _pin(root, harness, pinned, pin)
    files.write(verified.place(root, harness), verified.text(root, harness))
    _note(root, harness, pinned.version, new.version)
    return new.version


def _recorded(harness: str, watched: Path) -> record.Record:
    found = [path for path in sorted(watched.glob("*.json")) if path.name != "comparison.json"]
    if len(found) != 1:
        raise LabError(f"{watched} holds {len(found)} records, not one: run contract-watch for {harness}")
    new = record.read(found[0])
    if new.harness != harness:
        raise LabError(f"{found[0]} is of {new.harness}, not of {harness}")
    return new


def _check(root: Path, new: record.Record) -> None:
    """A record with other rows than those that are asked now would hide what it does not have."""
    wanted = {probe.id for probe in rows.load(new.harness)}
    if wanted != set(new.facts):
        raise LabError(f"the record of {new.version} has other probes than this checkout: record it again")
    if lines := relied.broken(new, relied.load(root, new.harness)):
        raise LabError(f"the contract does not hold in {new.version}:\n" + "\n".join(lines))


def _pin(root: Path, harness: str, old: HarnessPin, new: HarnessPin) -> None:
    """Two lines of the harness's table; everything else in the file stays as people wrote it."""
    path = root / pins.FOLDER / pins.FILE
    before, heading, rest = path.read_text(encoding="utf-8").partition(f"[harness.{harness}]\n")
    table, bracket, behind = rest.partition("\n[")
    for key in ("version", "integrity"):
        was, now = (f'{key} = "{getattr(pin, key)}"' for pin in (old, new))
        table, count = re.subn(rf"(?m)^{re.escape(was)}", now, table)
        if count != 1:
            raise LabError(f"{path}: [harness.{harness}] has no line {was}")
    files.write(path, before + heading + table + bracket + behind)


def _note(root: Path, harness: str, old: str, new: str) -> None:
    """One line a harness below the first heading: a later pin replaces the earlier one of that release."""
    path = root / CHANGELOG
    first, heading, rest = path.read_text(encoding="utf-8").partition("\n## ")
    title, _, notes = rest.partition("\n\n")
    section, nothing, behind = notes.partition("\n\n## ")
    line = rf"(?m)^- {re.escape(harness)} \S+ is pinned \(was (\S+)\)\.\n?"
    if found := re.search(line, section):
        old = found[1]
    section = re.sub(line, "", section).rstrip("\n")
    section += f"\n- {harness} {new} is pinned (was {old})."
    end = "" if behind else "\n"
    files.write(path, first + heading + title + "\n\n" + section + nothing + behind + end)

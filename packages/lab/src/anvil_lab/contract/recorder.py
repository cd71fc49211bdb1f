"""Acts the probes of a harness out on one version of its program, and makes the record of it."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_lab import inside, lab, pins
from anvil_lab.container import Limits, Mount
from anvil_lab.contract import program, rows
from anvil_lab.contract.record import Record
from anvil_lab.errors import LabError
from anvil_lab.inside.probe_scene import PLANTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_lab.contract.rows import Probe
    from anvil_lab.lab import Lab
    from anvil_lab.pins import HarnessPin

ROWS = "/rows"
# The part that runs inside is this checkout's, also where another one has rebuilt the image meanwhile.
RUNNER = Mount(str(Path(inside.__file__).parent), "/opt/runner/anvil_lab/inside")
# One container holds this many rows: few enough for its memory and its time limit.
PER_CONTAINER = 40
LIMITS = Limits(memory="4g", processes=1024, seconds=600)
_INSIDE = ("python3", "-m", "anvil_lab.inside.probes")


@dataclass(frozen=True)
class Recorded:
    record: Record
    seconds: dict[str, float]


def record(
    harness: str, pin: HarnessPin, images: Path, *, only: Sequence[str] = (), planted: Path | None = None
) -> Recorded:
    """Record a version. Tests choose rows with `only`, and plant a folder of programs before its own."""
    probes = [probe for probe in rows.load(harness) if not only or probe.id in only]
    started = lab.start(harness, images)
    with ExitStack() as stack:
        mounts = [RUNNER, *([Mount(str(planted), PLANTED)] if planted else [])]
        if pin != pins.load(images).of(harness):
            mounts += stack.enter_context(program.mounted(harness, pin))
        lines = [line for batch in _batches(probes) for line in _observe(started, harness, batch, mounts)]
    _check_version(lines, pin)
    return Recorded(
        Record(
            harness=harness,
            version=pin.version,
            integrity=pin.integrity,
            facts={line["id"]: line["facts"] for line in lines},
        ),
        {line["id"]: line["seconds"] for line in lines},
    )


def _batches(probes: list[Probe]) -> list[list[Probe]]:
    return [probes[at : at + PER_CONTAINER] for at in range(0, len(probes), PER_CONTAINER)]


def _observe(started: Lab, harness: str, batch: list[Probe], mounts: Sequence[Mount]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="anvil-rows-") as name:
        Path(name).chmod(0o755)
        Path(name, "rows.json").write_text(rows.as_json(batch), encoding="utf-8")
        command = [*_INSIDE, harness, f"{ROWS}/rows.json"]
        finished = started.execute(command, [Mount(name, ROWS), *mounts], LIMITS)
    lines: list[dict[str, Any]] = [json.loads(line) for line in finished.stdout.splitlines()]
    if finished.exit_code != 0 or len(lines) != len(batch):
        how = "timed out" if finished.timed_out else f"ended with {finished.exit_code}"
        raise LabError(f"{len(lines)} of {len(batch)} rows, then it {how}: {finished.stderr[-2000:]}")
    return lines


def _check_version(lines: list[dict[str, Any]], pin: HarnessPin) -> None:
    """The program says itself which version ran: a record under a wrong name would be worse than none."""
    seen = {line["version"] for line in lines if line["version"]}
    if seen and seen != {pin.version}:
        raise LabError(f"{pin.package}@{pin.version} was to be recorded; the program says {sorted(seen)}")
    failed = [f"{line['id']}: {line['facts']['error']}" for line in lines if "error" in line["facts"]]
    if len(failed) == len(lines):
        raise LabError("none of the probes could be acted out:\n" + "\n".join(failed[:5]))

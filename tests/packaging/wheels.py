"""What every wheel and source archive must hold: ``wheels.py FOLDER`` prints what lacks, and ends with 1.

A run of ``nox -s build``.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = ("anvil_core", "anvil_generator", "anvil_lab", "anvil_runtime", "anvil_shims")


def lacking(folder: Path, licence: bytes) -> list[str]:
    """One line for each thing that is not as it should be."""
    found = []
    for name in DISTRIBUTIONS:
        wheels, archives = (sorted(folder.glob(f"{name}-{form}")) for form in ("*.whl", "*.tar.gz"))
        if len(wheels) != 1 or len(archives) != 1:
            found.append(f"{name}: {len(wheels)} wheels and {len(archives)} source archives")
            continue
        found += [f"{wheels[0].name}: {what}" for what in wrong_in_wheel(wheels[0], licence)]
        with tarfile.open(archives[0]) as archive:
            if not any(member.endswith("/LICENSE") for member in archive.getnames()):
                found.append(f"{archives[0].name}: no LICENSE")
    return found


def wrong_in_wheel(path: Path, licence: bytes) -> list[str]:
    found = []
    with zipfile.ZipFile(path) as wheel:
        info = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(info))
        text = f"{info.rpartition('/')[0]}/licenses/LICENSE"
        if text not in wheel.namelist() or wheel.read(text) != licence:
            found.append("no LICENSE, or another one")
    if metadata["License-Expression"] != "Apache-2.0" or not str(metadata.get_payload()).strip():
        found.append("no License-Expression, or no description")
    loose = [need for need in metadata.get_all("Requires-Dist", []) if need.startswith("anvil-")]
    found += [
        f"{need} is not this version" for need in loose if need.partition("==")[2] != metadata["Version"]
    ]
    return found


def main(arguments: list[str]) -> int:
    found = lacking(Path(arguments[0]), (ROOT / "LICENSE").read_bytes())
    print("\n".join(found) if found else f"{len(DISTRIBUTIONS)} wheels and source archives are complete.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

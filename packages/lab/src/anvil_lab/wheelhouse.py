"""The wheels that the bundle's server needs, for the image's own Python, locked by file name and sha256.

The source is the hash-locked requirements file that every bundle carries. `update` turns it into
`harness-images/wheelhouse.lock`; `fetch` brings exactly the locked files into the cache; `problems` says
where the two files disagree.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from anvil_lab.cache import sha256_of
from anvil_lab.errors import LabError, UnavailableError

FILE = "wheelhouse.lock"
PYTHON = "3.13"
# The base image has python3 without pip; the bundle's launcher runs pip from this wheel.
PIP = "26.3"
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")
_TARGET = {
    "implementation_name": "cpython",
    "implementation_version": f"{PYTHON}.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": f"{PYTHON}.0",
    "python_version": PYTHON,
    "sys_platform": "linux",
    "extra": "",
}
_HEAD = """\
# Wheels in the harness images: for CPython {python} on linux x86_64 with glibc.
# Made from the requirements file that every bundle carries, and pip for a Python without it, by
#   python -m anvil_lab wheelhouse update
# requirements: {requirements}
"""


@dataclass(frozen=True)
class Locked:
    """One requirement of a hash-locked requirements file."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        return next(iter(self.requirement.specifier)).version

    def wanted(self) -> bool:
        marker = self.requirement.marker
        return marker is None or marker.evaluate(dict(_TARGET))


@dataclass(frozen=True)
class Wheel:
    file: str
    sha256: str

    @property
    def name(self) -> str:
        return str(parse_wheel_filename(self.file)[0])

    @property
    def version(self) -> str:
        return str(parse_wheel_filename(self.file)[1])


@dataclass(frozen=True)
class Lock:
    requirements: str
    wheels: tuple[Wheel, ...]

    def text(self) -> str:
        lines = [f"{wheel.sha256}  {wheel.file}\n" for wheel in sorted(self.wheels, key=lambda w: w.file)]
        return _HEAD.format(python=PYTHON, requirements=self.requirements) + "".join(lines)


def read_requirements(text: str) -> list[Locked]:
    """Parse a requirements file whose every entry is `name==version` with hashes."""
    found = []
    joined = re.sub(r"\\\n", " ", text)
    for line in joined.splitlines():
        entry = line.split(" #")[0].strip()
        if not entry or entry.startswith("#"):
            continue
        spec, *hashes = entry.split("--hash=sha256:")
        requirement = Requirement(spec.strip())
        if not hashes or not str(requirement.specifier).startswith("=="):
            raise LabError(f"requirement without an exact version and hashes: {spec.strip()}")
        found.append(Locked(requirement, frozenset(item.strip() for item in hashes)))
    return found


def requirements_digest(text: str) -> str:
    """Digest of what a requirements file demands, without its comments and layout."""
    lines = sorted(f"{item.requirement} {' '.join(sorted(item.hashes))}" for item in read_requirements(text))
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_lock(path: Path) -> Lock:
    requirements, wheels = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            match = re.fullmatch(r"# requirements: (\S+)", line)
            requirements = match[1] if match else requirements
        elif line.strip():
            digest, file = line.split()
            wheels.append(Wheel(file, digest))
    return Lock(requirements, tuple(wheels))


def problems(lock: Lock, requirements: str) -> list[str]:
    """Where the lock does not fit the requirements; empty when it does."""
    found = []
    if lock.requirements != requirements_digest(requirements):
        found.append("the requirements have changed since the lock was made")
    wheels = {wheel.name: wheel for wheel in lock.wheels}
    pip = wheels.pop("pip", None)
    if pip is None or pip.version != PIP:
        found.append(f"the lock has no wheel of pip {PIP}")
    wanted = {item.name: item for item in read_requirements(requirements) if item.wanted()}
    for name, item in sorted(wanted.items()):
        wheel = wheels.pop(name, None)
        if wheel is None:
            found.append(f"{name} {item.version} is required and not in the lock")
        elif wheel.version != item.version or wheel.sha256 not in item.hashes:
            found.append(f"{wheel.file} is not the required {name} {item.version}")
    found += [f"{wheel.file} is in the lock and not required" for wheel in wheels.values()]
    return found


def update(lock_path: Path, requirements: str, cache: Path) -> Lock:
    """Resolve the requirements to wheels for the image's Python and write the lock."""
    wanted = [item for item in read_requirements(requirements) if item.wanted()]
    lines = [_line(item.name, item.version, item.hashes) for item in wanted]
    with tempfile.TemporaryDirectory(dir=cache, prefix="wheels-") as name:
        folder = Path(name)
        _download(lines, folder)
        _download([f"pip=={PIP}"], folder, hashed=False)
        wheels = tuple(Wheel(path.name, sha256_of(path)) for path in sorted(folder.glob("*.whl")))
        for path in folder.glob("*.whl"):
            path.replace(_kept(cache) / path.name)
    lock = Lock(requirements_digest(requirements), wheels)
    left = problems(lock, requirements)
    if left:
        raise LabError("; ".join(left))
    lock_path.write_text(lock.text(), encoding="utf-8")
    return lock


def fetch(lock: Lock, cache: Path) -> list[Path]:
    """The locked wheels as files, each with its locked digest; downloaded where they are missing."""
    kept = _kept(cache)
    missing = [wheel for wheel in lock.wheels if not _is(kept / wheel.file, wheel.sha256)]
    if missing:
        with tempfile.TemporaryDirectory(dir=cache, prefix="wheels-") as name:
            folder = Path(name)
            _download([_line(wheel.name, wheel.version, {wheel.sha256}) for wheel in missing], folder)
            for wheel in missing:
                if not _is(folder / wheel.file, wheel.sha256):
                    raise LabError(f"{wheel.file}: the download is not the locked file")
                (folder / wheel.file).replace(kept / wheel.file)
    return [kept / wheel.file for wheel in sorted(lock.wheels, key=lambda wheel: wheel.file)]


def _kept(cache: Path) -> Path:
    folder = cache / "wheels"
    folder.mkdir(exist_ok=True)
    return folder


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_of(path) == digest


def _line(name: str, version: str, hashes: frozenset[str] | set[str]) -> str:
    return " ".join([f"{name}=={version}", *(f"--hash=sha256:{item}" for item in sorted(hashes))])


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    program = shutil.which("pip3") or shutil.which("pip")
    if program is None:
        raise UnavailableError("pip is needed once, to fetch the wheels: install it in this environment")
    return [program]


def _download(lines: list[str], folder: Path, *, hashed: bool = True) -> None:
    # Markers are already decided for the image's Python: pip would decide them for its own.
    listing = folder / "wanted.txt"
    listing.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [*_pip(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    command += ["--disable-pip-version-check", "--implementation", "cp", "--python-version", PYTHON]
    command += [part for platform in _PLATFORMS for part in ("--platform", platform)]
    command += ["--require-hashes"] if hashed else []
    done = subprocess.run([*command, "-r", str(listing)], check=False, capture_output=True, text=True)
    listing.unlink()
    if done.returncode != 0:
        raise LabError(f"pip download failed: {(done.stderr or done.stdout).strip()[-600:]}")

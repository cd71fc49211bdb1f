"""Which versions npm has, and by which digest each of them is known."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from anvil_lab.errors import LabError, UnavailableError

if TYPE_CHECKING:
    from anvil_lab.pins import HarnessPin

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
VERSION = re.compile(r"\d+\.\d+\.\d+([-+.][0-9A-Za-z.-]+)?")


def newest(package: str) -> str:
    """The version that `npm install` would bring."""
    tags = _view(package, "dist-tags")
    version = tags.get("latest") if isinstance(tags, dict) else None
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise LabError(f"npm names no newest version of {package}: {tags!r}")
    return version


def versions(pin: HarnessPin) -> list[str]:
    """All versions that npm has with the pin's build, but those before a release; unsorted."""
    listed = _view(pin.package, "versions")
    if not isinstance(listed, list):
        raise LabError(f"npm names no versions of {pin.package}: {listed!r}")
    ours = (str(name).removesuffix(pin.build) for name in listed if str(name).endswith(pin.build))
    return [version for version in ours if _RELEASE.fullmatch(version)]


def published(pin: HarnessPin, version: str) -> HarnessPin:
    """The pin of another version, with the digest that npm has for it."""
    if not VERSION.fullmatch(version):
        raise LabError(f"{version!r} is not an exact version")
    wanted = pin.model_copy(update={"version": version})
    integrity = _view(f"{pin.package}@{wanted.published}", "dist.integrity")
    if not isinstance(integrity, str) or not integrity.startswith("sha512-"):
        raise LabError(f"npm has no sha512 digest for {pin.package}@{wanted.published}: {integrity!r}")
    return wanted.model_copy(update={"integrity": integrity})


def _view(what: str, field: str) -> Any:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError(f"npm is not on PATH: it is needed to ask for {field} of {what}")
    done = subprocess.run(
        [npm, "view", what, field, "--json"], check=False, capture_output=True, text=True, timeout=120
    )
    if done.returncode != 0:
        raise LabError(f"npm view {what} {field} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise LabError(f"npm has no {what}, or no {field} of it") from None

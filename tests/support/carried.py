"""The server that a bundle carries, started with the packages of the tests' own environment."""

from __future__ import annotations

import importlib.util
import re
import sysconfig
from pathlib import Path

OUR_PACKAGES = re.compile(r"(__editable__|_?anvil|hookcore|__pycache__|_virtualenv|distutils).*")


def lay_out_cache(bundle: Path, made: Path) -> Path:
    """A folder in which the launcher of a bundle finds its packages, so that no network is needed."""
    spec = importlib.util.spec_from_file_location("launcher", bundle / "mcp/server.py")
    assert spec
    assert spec.loader
    launcher = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launcher)
    launcher.Options.cache = made
    packages = launcher.environment(launcher.read_lock())
    assert packages.is_relative_to(made)
    packages.mkdir(mode=0o700)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not OUR_PACKAGES.fullmatch(path.name):
            (packages / path.name).symlink_to(path)
    (packages / launcher.COMPLETE).touch()
    return made

"""The image that every harness image starts from.

Local: an mmdebstrap root file system as a docker-archive with a fixed configuration. (`docker import` would
stamp the time of day into it: another image id each time, and with it another build of all that follows.)
Public: a registry's image by digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from typing import IO, TYPE_CHECKING

from anvil_lab.cache import sha256_of
from anvil_lab.errors import LabError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from docker import DockerClient

    from anvil_lab.pins import Bases, LocalBase

REPOSITORY = "anvil-lab-base"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# mmdebstrap copies the host's name and resolver into the image, and leaves its own dpkg options there.
_CLEANING = (
    'echo localhost > "$1/etc/hostname"',
    ': > "$1/etc/resolv.conf"',
    'rm -f "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"',
)
_DPKG = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)


def rootfs_name(pin: LocalBase) -> str:
    recipe = json.dumps([pin.model_dump(), _CLEANING, _DPKG], sort_keys=True)
    return f"rootfs-{pin.suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.tar"


def rootfs(pin: LocalBase, cache: Path) -> Path:
    """The root file system as a tar in the cache; made if it is not there."""
    wanted = cache / rootfs_name(pin)
    if wanted.is_file():
        return wanted
    program = shutil.which("mmdebstrap")
    if program is None:
        raise UnavailableError("mmdebstrap is not on PATH (apt-get install mmdebstrap)")
    partial = wanted.with_suffix(f".{os.getpid()}.partial")
    command = [program, "--mode=root" if os.geteuid() == 0 else "--mode=unshare", f"--variant={pin.variant}"]
    command += ["--format=tar", "--quiet", f"--include={','.join(pin.include)}"]
    command += [f"--dpkgopt={option}" for option in _DPKG]
    command += [f"--customize-hook={line}" for line in _CLEANING]
    command += [pin.suite, str(partial)]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(pin.epoch)},
        )
        if done.returncode != 0:
            raise LabError(f"mmdebstrap failed ({done.returncode}): {done.stderr.strip()[-800:]}")
        partial.replace(wanted)
    finally:
        partial.unlink(missing_ok=True)
    return wanted


def write_archive(rootfs_tar: Path, out: IO[bytes], *, tag: str, epoch: int) -> None:
    """Write a docker-archive of one layer: the same bytes for the same root file system."""
    layer = sha256_of(rootfs_tar)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    config = _json_bytes(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": created,
            "config": {"Env": [f"PATH={SEARCH_PATH}"], "Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
            "history": [{"created": created, "created_by": "mmdebstrap"}],
        }
    )
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = _json_bytes(
        [{"Config": config_name, "RepoTags": [tag], "Layers": [f"{layer}/layer.tar"]}],
    )
    with tarfile.open(fileobj=out, mode="w|") as archive:
        for name, data in ((config_name, config), ("manifest.json", manifest)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        member = tarfile.TarInfo(f"{layer}/layer.tar")
        member.size = rootfs_tar.stat().st_size
        with rootfs_tar.open("rb") as file:
            archive.addfile(member, file)


def _json_bytes(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def ensure(client: DockerClient, bases: Bases, cache: Path, choice: str | None = None) -> str:
    """Reference of the base image; `choice` (or ANVIL_LAB_BASE) is `local`, the default, or `public`."""
    choice = choice or os.environ.get("ANVIL_LAB_BASE") or "local"
    if choice == "public":
        if bases.public.digest is None:
            raise LabError(
                "pins.toml has no digest for the public base: run update-pins, or use the local base"
            )
        return f"{bases.public.image}@{bases.public.digest}"
    if choice != "local":
        raise LabError(f"ANVIL_LAB_BASE={choice!r} is neither local nor public")
    tar = rootfs(bases.local, cache)
    tag = f"{REPOSITORY}:{bases.local.suite}-{sha256_of(tar)[:16]}"
    if not client.images.list(name=tag):
        with tempfile.TemporaryFile(dir=cache) as file:
            write_archive(tar, file, tag=tag, epoch=bases.local.epoch)
            file.seek(0)
            client.images.load(file)
    return tag

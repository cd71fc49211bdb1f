"""Runs a command in an image with everything shut, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from docker.errors import APIError, NotFound
from docker.types import LogConfig
from requests.exceptions import ConnectionError as NoAnswer
from requests.exceptions import ReadTimeout

from anvil_lab.images import LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from docker import DockerClient
    from docker.models.containers import Container

OWNER = f"{LABEL}.owner"
USER = "1000:1000"
HOME = "/home/agent"
PROJECT = "/project"
_OWN = "uid=1000,gid=1000"
# There is no network to ask for a name's address. A resolver waits five seconds to be sure of that, and a
# program that looks a name up as it ends waits with it: the limit is short, and known names have an address.
_NAMES = dict.fromkeys(("chatgpt.com", "api.github.com"), "127.0.0.1")


@dataclass(frozen=True)
class Limits:
    memory: str = "2g"
    processes: int = 256
    cpus: float = 2.0
    seconds: float = 120


@dataclass(frozen=True)
class Mount:
    """`source` is a host folder or the name of a volume."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Finished:
    """How the command ended; `exit_code` is None where the time was over."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = field(default=False)


def run(
    client: DockerClient,
    image: str,
    command: Sequence[str],
    *,
    mounts: Sequence[Mount] = (),
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Finished:
    """Run to the end, or to the time limit; the container is removed in every case."""
    limits = limits or Limits()
    began = time.monotonic()
    container: Container = client.containers.create(
        image,
        list(command),
        user=USER,
        network_mode="none",
        dns=["127.0.0.1"],
        dns_opt=["timeout:1", "attempts:1"],
        extra_hosts=_NAMES,
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        # A tmpfs is noexec unless it says otherwise; hooks and servers are run from a home folder.
        tmpfs={
            HOME: f"rw,exec,nosuid,nodev,mode=0700,{_OWN},size=512m",
            "/tmp": "rw,exec,nosuid,nodev,mode=1777,size=256m",  # noqa: S108 - inside the container
            PROJECT: f"rw,exec,nosuid,nodev,mode=0755,{_OWN},size=64m",
        },
        volumes={m.source: {"bind": m.target, "mode": "rw" if m.writable else "ro"} for m in mounts},
        environment=dict(environment or {}),
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        pids_limit=limits.processes,
        nano_cpus=int(limits.cpus * 1e9),
        init=True,
        detach=True,
        stdin_open=False,
        tty=False,
        log_config=LogConfig(type="json-file", config={"max-size": "32m"}),
        labels={LABEL: "run", OWNER: str(os.getpid())},
    )
    try:
        container.start()
        exit_code = _wait(container, limits.seconds)
        return Finished(
            exit_code=exit_code,
            stdout=container.logs(stdout=True, stderr=False).decode(errors="replace"),
            stderr=container.logs(stdout=False, stderr=True).decode(errors="replace"),
            seconds=round(time.monotonic() - began, 3),
            timed_out=exit_code is None,
        )
    finally:
        container.remove(force=True, v=True)


def read(client: DockerClient, image: str, path: str) -> bytes:
    """A file of an image."""
    container: Container = client.containers.create(image, labels={LABEL: "run", OWNER: str(os.getpid())})
    try:
        chunks, _ = container.get_archive(path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            member = archive.extractfile(archive.next() or path)
            return member.read() if member else b""
    finally:
        container.remove(force=True, v=True)


def _wait(container: Container, seconds: float) -> int | None:
    try:
        return int(container.wait(timeout=seconds)["StatusCode"])
    except (ReadTimeout, NoAnswer):
        container.kill()
        return None


def remove_strays(client: DockerClient) -> int:
    """Remove containers of ours whose process on this machine has ended; returns how many there were."""
    found = client.containers.list(all=True, filters={"label": f"{LABEL}=run"}, ignore_removed=True)
    strays = [stray for stray in found if not Path("/proc", stray.labels.get(OWNER, "none")).exists()]
    for stray in strays:
        try:
            stray.remove(force=True, v=True)
        except (NotFound, APIError):  # gone already, or being removed by its own run
            continue
    return len(strays)

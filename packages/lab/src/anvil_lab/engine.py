"""Finds a Docker engine, or says in one line why there is none."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import docker
from docker.errors import DockerException

from anvil_lab.errors import UnavailableError

DEFAULT_HOST = "unix:///var/run/docker.sock"
HELP = "start one with harness-images/engine.sh start, or set DOCKER_HOST"


def connect(timeout: int = 600) -> docker.DockerClient:
    """A client for the engine at DOCKER_HOST, or at the usual socket."""
    host = os.environ.get("DOCKER_HOST") or DEFAULT_HOST
    if host.startswith("unix://"):
        _check_socket(Path(host.removeprefix("unix://")))
    try:
        client = docker.from_env(version="auto", timeout=timeout)
        client.ping()
    except (DockerException, OSError) as error:
        raise UnavailableError(f"no Docker engine answers at {host} ({HELP}): {error}") from error
    return client


def _check_socket(path: Path) -> None:
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except FileNotFoundError:
        raise UnavailableError(f"no Docker engine: {path} is not there ({HELP})") from None
    if not is_socket:
        raise UnavailableError(f"no Docker engine: {path} is not a socket ({HELP})")
    if not os.access(path, os.R_OK | os.W_OK):
        raise UnavailableError(f"no Docker engine: {path} may not be used by this user (join group docker)")
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(path))
    except OSError as error:
        raise UnavailableError(f"no Docker engine: nobody listens on {path} ({HELP}): {error}") from None

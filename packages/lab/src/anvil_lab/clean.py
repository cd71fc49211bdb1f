"""Removes what the laboratory left in the engine and in the cache; only what carries its label or name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from docker.errors import APIError

from anvil_lab import base, container, wheelhouse
from anvil_lab.images import LABEL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from docker import DockerClient

    from anvil_lab.pins import Pins


def engine(client: DockerClient, pins: Pins, *, everything: bool = False) -> list[str]:
    """Remove stray containers, prepared volumes, and images that the pins no longer name."""
    removed = [f"{container.remove_strays(client)} containers"]
    current = set() if everything else {(name, pin.integrity) for name, pin in pins.harness.items()}
    bases = set()
    for image in client.images.list(filters={"label": f"{LABEL}=image"}):
        key = (image.labels.get(f"{LABEL}.harness", ""), image.labels.get(f"{LABEL}.integrity", ""))
        if image.tags and key in current:
            bases.add(image.labels.get(f"{LABEL}.base"))
            continue
        name = f"image {', '.join(image.tags) or image.short_id}"
        removed += _unless_in_use(name, partial(client.images.remove, str(image.id), force=True))
    for image in client.images.list(name=base.REPOSITORY):
        for tag in image.tags:
            if tag not in bases:
                removed += _unless_in_use(f"image {tag}", partial(client.images.remove, tag))
    for volume in client.volumes.list(filters={"label": LABEL}):
        removed += _unless_in_use(f"volume {volume.name}", partial(volume.remove, force=True))
    return removed


def _unless_in_use(name: str, remove: Callable[[], object]) -> list[str]:
    try:
        remove()
    except APIError:  # a run of another process holds it
        return [f"{name} is in use"]
    return [name]


def cache(folder: Path, pins: Pins, lock: wheelhouse.Lock, *, everything: bool = False) -> list[str]:
    """Remove downloads that neither the pins nor the wheel lock name."""
    keep = set() if everything else {pin.tarball_name for pin in pins.harness.values()}
    wheels = set() if everything else {wheel.file for wheel in lock.wheels}
    if not everything:
        keep.add(base.rootfs_name(pins.base.local))
    patterns = ("*.tgz", "rootfs-*.tar", "*.partial", "anvil-lab-prepared-*")
    ours = [path for pattern in patterns for path in folder.glob(pattern)]
    old = [path for path in ours if path.name not in keep]
    old += [path for path in (folder / "wheels").glob("*.whl") if path.name not in wheels]
    for path in old:
        path.unlink()
    return [path.name for path in sorted(old)]

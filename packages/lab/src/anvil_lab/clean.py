"""Removes what the laboratory left in the engine and in the cache; only what carries its label or name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anvil_lab import base, container, wheelhouse
from anvil_lab.images import LABEL

if TYPE_CHECKING:
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
        client.images.remove(str(image.id), force=True)
        removed.append(f"image {', '.join(image.tags) or image.short_id}")
    for image in client.images.list(name=base.REPOSITORY):
        for tag in image.tags:
            if tag not in bases:
                client.images.remove(tag)
                removed.append(f"image {tag}")
    for volume in client.volumes.list(filters={"label": LABEL}):
        volume.remove(force=True)
        removed.append(f"volume {volume.name}")
    return removed


def cache(folder: Path, pins: Pins, lock: wheelhouse.Lock, *, everything: bool = False) -> list[str]:
    """Remove downloads that neither the pins nor the wheel lock name."""
    keep = set() if everything else {pin.tarball_name for pin in pins.harness.values()}
    wheels = set() if everything else {wheel.file for wheel in lock.wheels}
    if not everything:
        keep.add(base.rootfs_name(pins.base.local))
    ours = [*folder.glob("*.tgz"), *folder.glob("rootfs-*.tar"), *folder.glob("*.partial")]
    old = [path for path in ours if path.name not in keep]
    old += [path for path in (folder / "wheels").glob("*.whl") if path.name not in wheels]
    for path in old:
        path.unlink()
    return [path.name for path in sorted(old)]

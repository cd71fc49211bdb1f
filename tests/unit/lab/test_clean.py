from __future__ import annotations

from docker.errors import APIError

from anvil_lab import base, clean, pins, wheelhouse


def test_only_what_is_no_longer_pinned_goes(tmp_path, images_folder):
    pinned = pins.load(images_folder)
    lock = wheelhouse.read_lock(images_folder / wheelhouse.FILE)
    (tmp_path / "wheels").mkdir()
    kept = [
        pinned.of("claude").tarball_name,
        base.rootfs_name(pinned.base.local),
        f"wheels/{lock.wheels[0].file}",
    ]
    old = ["scope-old-1.tgz", "rootfs-old.tar", "wheels/old-1-py3-none-any.whl", "x.partial"]
    for name in [*kept, *old, "not-ours.txt"]:
        (tmp_path / name).touch()
    removed = clean.cache(tmp_path, pinned, lock)
    assert removed == ["rootfs-old.tar", "scope-old-1.tgz", "old-1-py3-none-any.whl", "x.partial"]
    assert all((tmp_path / name).exists() for name in [*kept, "not-ours.txt"])
    clean.cache(tmp_path, pinned, lock, everything=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["not-ours.txt", "wheels"]


class Thing:
    """An image or a volume of the engine."""

    def __init__(self, name, labels=(), used=False):
        self.name, self.id, self.short_id, self.tags = name, name, name, [name]
        self.labels, self.used, self.gone = dict(labels), used, False

    def remove(self, *_, **__):
        if self.used:
            raise APIError("in use")
        self.gone = True


class Store:
    def __init__(self, *things):
        self.things = {thing.name: thing for thing in things}

    def list(self, name=None, **_):
        bases = [thing for thing in self.things.values() if thing.name.startswith(base.REPOSITORY)]
        return bases if name else [thing for thing in self.things.values() if thing not in bases]

    def remove(self, name, **_):
        self.things[name].remove()


class Client:
    def __init__(self, images, volumes):
        self.images, self.volumes, self.containers = Store(*images), Store(*volumes), Store()


def test_in_the_engine_too_and_what_is_in_use_stays(images_folder):
    pinned = pins.load(images_folder)
    kept_base, old_base = (Thing(f"{base.REPOSITORY}:{name}") for name in ("new", "old"))
    labels = {"anvil.lab.harness": "claude", "anvil.lab.integrity": pinned.of("claude").integrity}
    current = Thing("current", {**labels, "anvil.lab.base": kept_base.name})
    old, used = Thing("old", {"anvil.lab.harness": "claude"}), Thing("volume", used=True)
    removed = clean.engine(Client([kept_base, old_base, current, old], [used]), pinned)
    assert removed == ["0 containers", "image old", f"image {old_base.name}", "volume volume is in use"]
    assert [thing.gone for thing in (kept_base, old_base, current, old)] == [False, True, False, True]

from __future__ import annotations

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

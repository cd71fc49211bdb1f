from __future__ import annotations

import io
import sys
import tarfile

import pytest
from docker.errors import ImageNotFound

from anvil_lab import images, wheelhouse
from anvil_lab.cache import integrity_of, sha256_of
from anvil_lab.pins import HarnessPin


@pytest.fixture
def recipe(tmp_path):
    cache = tmp_path / "cache"
    folder = tmp_path / "harness-images"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "Dockerfile").write_text("FROM x\n")
    (cache / "wheels").mkdir(parents=True)
    wheel = cache / "wheels" / "thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    lock = wheelhouse.Lock("sha256:0", (wheelhouse.Wheel(wheel.name, sha256_of(wheel)),))
    (folder / wheelhouse.FILE).write_text(lock.text())
    tarball = cache / "one-1.tgz"
    tarball.write_bytes(b"tarball")
    pin = HarnessPin(package="one", version="1", integrity=integrity_of(tarball), binary="package/one")
    return images.Recipe("one", pin, "base:tag", folder, cache)


def test_the_context_holds_the_recipe_and_nothing_else(recipe):
    out = io.BytesIO()
    images.write_context(recipe, out)
    out.seek(0)
    with tarfile.open(fileobj=out) as archive:
        names = archive.getnames()
    inside = [name for name in names if name.startswith("runner/")]
    assert set(names) - set(inside) == {"Dockerfile", "harness.tgz", "wheelhouse/thing-1.0-py3-none-any.whl"}
    assert "runner/anvil_lab/inside/stage.py" in inside
    assert all(name.startswith(("runner/anvil_lab/inside/", "runner/anvil_lab/__init__")) for name in inside)


def test_the_key_follows_every_part(recipe, monkeypatch):
    keys = {recipe.key()}
    changed = [
        images.Recipe("one", recipe.pin, "base:other", recipe.images, recipe.cache),
        images.Recipe(
            "one", recipe.pin.model_copy(update={"integrity": "x"}), recipe.base, recipe.images, recipe.cache
        ),
    ]
    keys |= {other.key() for other in changed}
    (recipe.images / "one" / "Dockerfile").write_text("FROM y\n")
    keys.add(recipe.key())
    (recipe.images / wheelhouse.FILE).write_text(f"{'0' * 64}  other-1.0-py3-none-any.whl\n")
    keys.add(recipe.key())
    monkeypatch.setattr(images, "runner_files", lambda: [("a", b"b")])
    keys.add(recipe.key())
    assert len(keys) == 6


def test_what_runs_inside_needs_the_standard_library_alone():
    """The image has a bare python3: nothing may be imported there that is not in it."""
    for name, data in images.runner_files():
        for line in data.decode().splitlines():
            if line.startswith(("import ", "from ")):
                module = line.split()[1].split(".")[0]
                assert module == "anvil_lab" or module in sys.stdlib_module_names, f"{name}: {line}"
                assert module != "anvil_lab" or "anvil_lab.inside" in line, f"{name}: {line}"


class Image:
    def __init__(self, name, key):
        self.id, self.labels = name, {f"{images.LABEL}.key": key}


class Engine:
    """One tag, which another checkout can give to an image of its own."""

    def __init__(self):
        self.images, self.tagged, self.built = self, None, 0

    def get(self, tag):
        if self.tagged is None:
            raise ImageNotFound(tag)
        return self.tagged

    def build(self, *, labels, **_):
        self.built += 1
        self.tagged = Image(f"sha256:{self.built}", labels[f"{images.LABEL}.key"])
        return self.tagged, []


def test_an_image_is_named_by_what_it_is_and_not_by_a_tag_that_can_move(recipe):
    engine = Engine()
    assert images.ensure(engine, recipe) == "sha256:1"
    assert images.ensure(engine, recipe) == "sha256:1"
    engine.tagged = Image("sha256:other", "another checkout's")
    assert images.ensure(engine, recipe) == "sha256:2"
    assert engine.built == 2

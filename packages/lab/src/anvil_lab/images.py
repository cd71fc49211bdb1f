"""Builds a harness image. The context is a tar made here; the build has no network."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from docker.errors import BuildError, ImageNotFound

from anvil_lab import tarballs, wheelhouse
from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker import DockerClient

    from anvil_lab.pins import HarnessPin

LABEL = "anvil.lab"
REPOSITORY = "anvil-lab"
_PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Recipe:
    """All that an image is made of."""

    harness: str
    pin: HarnessPin
    base: str
    images: Path
    cache: Path

    @property
    def tag(self) -> str:
        kind = "local" if "@" not in self.base else "public"
        return f"{REPOSITORY}-{self.harness}:{self.pin.published}-{kind}"

    @property
    def dockerfile(self) -> bytes:
        return (self.images / self.harness / "Dockerfile").read_bytes()

    @property
    def wheels(self) -> wheelhouse.Lock:
        return wheelhouse.read_lock(self.images / wheelhouse.FILE)

    def key(self) -> str:
        """Digest of the recipe: an image with this label need not be built again."""
        digest = hashlib.sha256()
        for part in (self.harness, self.pin.integrity, self.pin.binary, self.base, self.wheels.text()):
            digest.update(part.encode() + b"\0")
        digest.update(self.dockerfile)
        for name, data in runner_files():
            digest.update(name.encode() + b"\0" + data + b"\0")
        return digest.hexdigest()


def runner_files() -> Iterator[tuple[str, bytes]]:
    """What runs inside: this package's root and its `inside` part, nothing else."""
    yield "anvil_lab/__init__.py", (_PACKAGE / "__init__.py").read_bytes()
    for path in sorted((_PACKAGE / "inside").glob("*.py")):
        yield f"anvil_lab/inside/{path.name}", path.read_bytes()


def write_context(recipe: Recipe, out: IO[bytes]) -> None:
    tarball = tarballs.fetch(recipe.pin, recipe.cache)
    wheels = wheelhouse.fetch(recipe.wheels, recipe.cache)
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        _add_bytes(archive, "Dockerfile", recipe.dockerfile)
        for name, data in runner_files():
            _add_bytes(archive, f"runner/{name}", data)
        for path in wheels:
            _add_file(archive, f"wheelhouse/{path.name}", path)
        _add_file(archive, "harness.tgz", tarball)


def ensure(client: DockerClient, recipe: Recipe) -> str:
    """The image's id; built only where the one that has the tag was made of something else.

    Not the tag: another checkout may give it to an image of its own in the middle of our runs.
    """
    key = recipe.key()
    try:
        image = client.images.get(recipe.tag)
        if image.labels.get(f"{LABEL}.key") == key:
            return str(image.id)
    except ImageNotFound:
        pass
    with tempfile.TemporaryFile(dir=recipe.cache) as context:
        write_context(recipe, context)
        context.seek(0)
        return _build(client, recipe, context, key)


def _build(client: DockerClient, recipe: Recipe, context: IO[bytes], key: str) -> str:
    # The library speaks to the classic builder only. Should an engine lose it, this function becomes
    # `docker buildx build --load -` with the same tar on its standard input.
    try:
        image, _ = client.images.build(
            fileobj=context,
            custom_context=True,
            tag=recipe.tag,
            rm=True,
            forcerm=True,
            pull="@" in recipe.base,
            network_mode="none",
            timeout=600,
            buildargs={"BASE_IMAGE": recipe.base, "HARNESS_BINARY": recipe.pin.binary},
            labels={
                LABEL: "image",
                f"{LABEL}.key": key,
                f"{LABEL}.harness": recipe.harness,
                f"{LABEL}.version": recipe.pin.version,
                f"{LABEL}.integrity": recipe.pin.integrity,
                f"{LABEL}.base": recipe.base,
            },
        )
        return str(image.id)
    except BuildError as error:
        log = "".join(str(line.get("stream", "")) for line in error.build_log)
        raise LabError(f"building {recipe.tag} failed: {error.msg}\n{log[-1500:]}") from error


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    archive.addfile(member, io.BytesIO(data))


def _add_file(archive: tarfile.TarFile, name: str, path: Path) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = path.stat().st_size, 0o644
    with path.open("rb") as file:
        archive.addfile(member, file)

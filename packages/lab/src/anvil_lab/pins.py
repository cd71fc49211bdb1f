"""`harness-images/pins.toml`: which bytes the images are made of."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anvil_lab.errors import LabError

FOLDER = "harness-images"
FILE = "pins.toml"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LocalBase(_Frozen):
    """A root file system made with mmdebstrap."""

    suite: str
    variant: str
    include: tuple[str, ...]
    epoch: int


class PublicBase(_Frozen):
    """An image of a public registry; usable once its digest is known."""

    image: str
    digest: Annotated[str | None, Field(pattern=r"^sha256:[0-9a-f]{64}$")] = None


class Bases(_Frozen):
    local: LocalBase
    public: PublicBase


class HarnessPin(_Frozen):
    """The npm package that holds one harness's program.

    `version` is what the program says of itself. Where one package holds the builds of all systems, npm has
    ours under that version and a `build` of its own: `published` is the name there, and nowhere else.
    """

    package: Annotated[str, Field(pattern=r"^(@[a-z0-9-]+/)?[a-z0-9._-]+$")]
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.+-]*$")]
    build: Annotated[str, Field(pattern=r"^(-[0-9A-Za-z.-]+)?$")] = ""
    integrity: Annotated[str, Field(pattern=r"^sha512-[A-Za-z0-9+/]{86}==$")]
    binary: Annotated[str, Field(pattern=r"^package/[^.]")]

    @property
    def published(self) -> str:
        return self.version + self.build

    @property
    def tarball_name(self) -> str:
        return f"{self.package.replace('@', '').replace('/', '-')}-{self.published}.tgz"


class Pins(_Frozen):
    schema_version: Annotated[Literal[1], Field(alias="schema")]
    base: Bases
    harness: dict[str, HarnessPin]

    def of(self, harness: str) -> HarnessPin:
        if harness not in self.harness:
            known = ", ".join(sorted(self.harness))
            raise LabError(f"{FILE} has no [harness.{harness}] (it has: {known})")
        return self.harness[harness]


def load(images: Path) -> Pins:
    """Read the pins of a `harness-images` folder."""
    path = images / FILE
    try:
        return Pins.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise LabError(f"{path}: {error}") from error


def find_images(start: Path | None = None) -> Path:
    """The `harness-images` folder of the checkout that `start` (the current folder) lies in."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / FOLDER / FILE).is_file():
            return folder / FOLDER
    raise LabError(f"no {FOLDER}/{FILE} in {here} or above it: run this in a checkout of Anvil")

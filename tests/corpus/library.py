"""The documents of the corpus: where each lies, and a project folder around it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / "dist" / "corpus"


@dataclass(frozen=True)
class Npm:
    """A file of an npm package, which is fetched when it is needed and never committed."""

    package: str
    version: str
    integrity: str
    member: str


@dataclass(frozen=True)
class Entry:
    """One document. ``server`` is for one that names none."""

    name: str
    path: Path | None
    npm: Npm | None
    server: str | None

    def file(self) -> Path:
        """The document, fetched if it has to be."""
        if self.path:
            return self.path
        assert self.npm is not None
        return fetch(self.npm, CACHE / f"{self.name}.json")

    def project(self, folder: Path, document: Path | None = None) -> Path:
        """Make a project folder of the document, or of another text of it."""
        document = document or self.file()
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(document, folder / document.name)
        lines = ["anvil: 1", f"document: {document.name}", f"service: {self.name[:16].strip('-')}"]
        lines += [f"server: {self.server}"] if self.server else []
        (folder / "anvil.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder


def entries() -> dict[str, Entry]:
    data = tomllib.loads((HERE / "corpus.toml").read_text(encoding="utf-8"))
    return {
        name: Entry(
            name,
            (HERE / one["path"]).resolve() if "path" in one else None,
            Npm(**one["npm"]) if "npm" in one else None,
            one.get("server"),
        )
        for name, one in data.items()
    }


def fetch(npm: Npm, target: Path) -> Path:
    """The member of the package at ``target``, taken from a tarball with the pinned digest.

    A mark beside it says of which tarball it is, so that a new pin fetches anew.
    """
    mark = target.with_suffix(".integrity")
    if target.is_file() and mark.is_file() and mark.read_text(encoding="utf-8") == npm.integrity:
        return target
    program = shutil.which("npm")
    if program is None:
        raise SystemExit(f"npm is not on PATH: it is needed once, to fetch {npm.package}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        spec = f"{npm.package}@{npm.version}"
        command = [program, "pack", spec, "--ignore-scripts", "--silent", "--pack-destination", name]
        subprocess.run([*command, "--cache", f"{name}/cache"], check=True, cwd=name, timeout=600)
        (tarball,) = Path(name).glob("*.tgz")
        digest = hashlib.sha512(tarball.read_bytes()).digest()
        got = f"sha512-{base64.b64encode(digest).decode('ascii')}"
        if got != npm.integrity:
            raise SystemExit(f"{spec}: its digest is {got}, the pin says {npm.integrity}")
        with tarfile.open(tarball) as archive:
            member = archive.extractfile(npm.member)
            assert member is not None
            target.write_bytes(member.read())
    mark.write_text(npm.integrity, encoding="utf-8")
    return target

"""A project folder: ``anvil.yaml``, the document it names, and ``approvals.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anvil_generator import approvals, manifest
from anvil_generator.errors import failure
from anvil_generator.yamlfiles import YamlFile

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_generator.approvals import Approvals
    from anvil_generator.manifest import Manifest


@dataclass(frozen=True)
class Project:
    """What a compile starts from; paths as the user can find them again."""

    manifest: Manifest
    manifest_file: YamlFile
    document: Path
    approvals: Approvals
    approvals_file: YamlFile
    approvals_path: Path | None
    refs_within: Path | None = None


def open_project(
    target: Path,
    manifest_path: Path | None = None,
    approvals_path: Path | None = None,
    refs_within: Path | None = None,
) -> Project:
    """Open a project folder or a bare document. Raises Failed for anything that cannot be read.

    A bare document has no manifest unless one is given: nothing in it is approved. ``refs_within`` is for
    one without a manifest: a folder that every command must know belongs into the manifest.
    """
    if refs_within and (target.is_dir() or manifest_path):
        message = "is for a document without a manifest; say it in anvil.yaml as refs_within: FOLDER"
        raise failure("usage", message, "--refs-within", usage=True)
    if refs_within and not refs_within.is_dir():
        raise failure("usage", f"{refs_within} is no folder", "--refs-within", usage=True)
    if not target.exists():
        raise failure("no_such_file", "there is no such file or folder", str(target), usage=True)
    if target.is_dir():
        return _open_folder(target, manifest_path or target / manifest.FILE_NAME, approvals_path)
    if manifest_path is None:
        said, file = manifest.Manifest(document=target.name), YamlFile(manifest.FILE_NAME)
    else:
        said, file = manifest.read_manifest(manifest_path, str(manifest_path))
    reviewed, reviewed_file = (
        approvals.read_approvals(approvals_path, str(approvals_path))
        if approvals_path
        else (approvals.Approvals(), YamlFile("approvals.yaml"))
    )
    within = _refs_within(said, file, manifest_path.parent) if manifest_path else refs_within
    return Project(said, file, target, reviewed, reviewed_file, approvals_path, within)


def _open_folder(folder: Path, manifest_path: Path, approvals_path: Path | None) -> Project:
    if not manifest_path.exists():
        message = f"this folder has no {manifest.FILE_NAME}; write one, or compile the document itself"
        raise failure("no_manifest", message, str(folder), usage=True)
    said, file = manifest.read_manifest(manifest_path, str(manifest_path))
    document = folder / said.document
    if not document.is_file():
        position = file.position("document")
        raise failure(
            "no_document",
            f"the document {said.document} is not there; correct document:, or put it back",
            position.file,
            position.line,
        )
    path = approvals_path or folder / approvals.FILE_NAME
    reviewed, reviewed_file = approvals.read_approvals(path, str(path))
    within = _refs_within(said, file, manifest_path.parent)
    return Project(said, file, document, reviewed, reviewed_file, path, within)


def _refs_within(said: Manifest, file: YamlFile, folder: Path) -> Path | None:
    """The folder that references may lead to, where the manifest names one."""
    if said.refs_within is None:
        return None
    within = folder / said.refs_within
    if not within.is_dir():
        at = file.position("refs_within")
        raise failure("refs_within", f"{said.refs_within} is no folder", at.file, at.line)
    return within

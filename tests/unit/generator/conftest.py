"""Small projects written in the test, and the command line as a process."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from anvil_generator.compiler import Compiled, compile_project
from anvil_generator.errors import Failed
from anvil_generator.project import open_project
from anvil_generator.sources import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

OK = {"responses": {"200": {"description": "ok"}}}
KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
PATHS: dict[str, Any] = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets"], **OK},
        "post": {
            "operationId": "addPet",
            "tags": ["pets"],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"type": "object", "properties": {"title": {"type": "string"}}}
                    }
                },
            },
            **OK,
        },
    },
    "/pets/{pet}": {
        "parameters": [{"name": "pet", "in": "path", "required": True, "schema": {"type": "string"}}],
        "get": {"operationId": "getPet", "tags": ["pets"], **OK},
        "delete": {"operationId": "deletePet", "tags": ["pets"], **OK},
    },
    "/refunds": {"post": {"operationId": "createRefund", "parameters": [KEY], **OK}},
}


def document(paths: Any = None, **top: Any) -> str:
    raw = {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1.2"},
        "servers": [{"url": "https://api.pets.example/v1"}],
        "paths": PATHS if paths is None else paths,
        **top,
    }
    return json.dumps(raw, indent=1)


MANIFEST = "anvil: 1\ndocument: api.json\nservice: pets\n"


class Runner:
    """The command line in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, *arguments: object, cwd: Path | None = None, umask: int = -1, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "anvil_generator", *map(str, arguments)],
            cwd=cwd or self.folder,
            env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200", **environ},
            umask=umask,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return done


@pytest.fixture
def cli(tmp_path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def project(tmp_path):
    """A function: a project folder from paths, more of the manifest, and other parts of the document."""

    def make(paths: Any = None, manifest: str = "", *, name: str = "project", **top: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "api.json").write_text(document(paths, **top), encoding="utf-8")
        (folder / "anvil.yaml").write_text(MANIFEST + manifest, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def compiled():
    """A function: a project folder compiled in process."""

    def run(folder: Path, *args: Any) -> Compiled:
        return compile_project(open_project(folder), *args)

    return run


@pytest.fixture
def problems(compiled):
    """A function: the problems that a compile of the folder ends with, as they are printed."""

    def run(folder: Path, *args: Any) -> list[str]:
        with pytest.raises(Failed) as failed:
            compiled(folder, *args)
        return [str(problem) for problem in failed.value.problems]

    return run


@pytest.fixture
def found():
    """A function: one operation as a document describes it."""

    def make(method: str = "post", path: str = "/things", **fields: Any):
        operation = {**OK, **fields}
        document_ = read_bytes(document({path: {method: operation}}).encode(), "api.json")
        (one,) = document_.operations
        return one

    return make


@pytest.fixture
def digests():
    """A function: {path: mode and digest} of everything below a folder, and what stands beside it."""

    def look(folder: Path) -> dict[str, str]:
        seen = {f"beside/{path.name}": "" for path in folder.parent.iterdir()}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            mode = oct(path.lstat().st_mode)
            seen[name] = f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ''}"
        return seen

    return look

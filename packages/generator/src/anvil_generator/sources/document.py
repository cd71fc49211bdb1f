"""Reading a document: a file in, found operations or problems out."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from anvil_core.problems import Position, Problem
from anvil_generator.sources import operations, security, servers, text
from anvil_generator.sources.definitions import Definitions
from anvil_generator.sources.model import Document
from anvil_generator.sources.other_files import OtherFiles
from anvil_generator.sources.raw import Raw
from anvil_generator.sources.raw import text as prose

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_generator.sources.model import Home, Kind
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.text import Tree


def read(
    path: Path, uri: str | None = None, home: Home | None = None, refs_within: Path | None = None
) -> Document:
    """Read the document at ``path``; ``uri`` is how the project names it (default: the file's name).

    ``home`` is where requests go whatever the document says (default: its own first usable server).
    ``refs_within`` is the folder that references may lead to (default: the document's own).
    """
    uri = path.name if uri is None else uri
    try:
        data = text.read_file(path, text.MAX_BYTES)
    except text.TextError as error:
        return _unreadable(uri, error.code, error.message, error.line)
    return read_bytes(data, uri, home, OtherFiles(path, refs_within or path.parent))


def read_bytes(data: bytes, uri: str, home: Home | None = None, others: OtherFiles | None = None) -> Document:
    """Read a document from its bytes; ``others`` opens the files that it refers to (default: none)."""
    try:
        tree = text.parse(text.decode(data), json_only=uri.lower().endswith(".json"))
        kind = _kind(tree)
        _check_duplicates(tree)
    except text.TextError as error:
        return _unreadable(uri, error.code, error.message, error.line)
    raw = Raw(tree, kind, uri, others=others or OtherFiles())
    for pointer, line in tree.duplicates:
        raw.warn("duplicate_key", f"{pointer[-1]!r} is written twice (again on line {line})", pointer)
    try:
        return _document(raw, hashlib.sha256(data).hexdigest(), home)
    except text.TextError as error:
        return _unreadable(uri, error.code, error.message, error.line)


def _unreadable(uri: str, code: str, message: str, line: int | None) -> Document:
    problem = Problem(severity="error", code=code, message=message, position=Position(file=uri, line=line))
    return Document(uri, problems=(problem,))


def _kind(tree: Tree) -> Kind:
    root = tree.root
    if not isinstance(root, dict) or not ({"openapi", "swagger"} & root.keys()):
        raise text.TextError(
            "not_openapi", "this is no OpenAPI document: `openapi:` is missing at its top", 1
        )
    key = "openapi" if "openapi" in root else "swagger"
    # Unquoted in YAML, 3.1 is a number.
    version, line = str(root[key]), tree.line((key,))
    kind = _KINDS.get((key, ".".join(version.split(".")[:2])))
    if kind is None:
        message = f"version {version[:20]!r} is not supported; OpenAPI 3.0 and 3.1 and Swagger 2.0 are"
        raise text.TextError("unsupported_version", message, line)
    if not isinstance(root.get("paths", {}), dict):
        raise text.TextError("not_openapi", "`paths` must be an object", tree.line(("paths",)))
    if kind != "openapi-3.1" and "paths" not in root:
        raise text.TextError("not_openapi", "the document has no `paths`", line)
    return kind


_KINDS: dict[tuple[str, str], Kind] = {
    ("openapi", "3.0"): "openapi-3.0",
    ("openapi", "3.1"): "openapi-3.1",
    ("swagger", "2.0"): "swagger-2.0",
}


def _check_duplicates(tree: Tree) -> None:
    """A path or method written twice hides an operation, which would then be counted by nobody."""
    for pointer, line in tree.duplicates:
        hides_operations = pointer[:1] == ("paths",) and (len(pointer) <= 2 or _is_method(pointer))
        if hides_operations:
            name = pointer[-1]
            message = f"{name!r} is written twice, and one of them would be lost; merge the two"
            raise text.TextError("duplicate_path", message, line)


def _is_method(pointer: Pointer) -> bool:
    return len(pointer) == 3 and pointer[-1] in operations.METHODS


def _document(raw: Raw, sha256: str, home: Home | None) -> Document:
    found_servers = servers.of_document(raw)
    if home is None and found_servers:
        home = found_servers[0].origin, found_servers[0].base_path
    schemes = security.schemes(raw, home)
    around = operations.Surroundings(raw, Definitions(raw), schemes, home)
    account = operations.read(around)
    if not (account.operations or account.withheld or account.failed):
        raw.warn("no_operations", "the document describes no operations", ("paths",))
    info: Any = raw.root.get("info")
    info = info if isinstance(info, dict) else {}
    for key in ("title", "version"):
        if not info.get(key):
            raw.warn("info_missing", f"`info` has no `{key}`", ("info", key))
    return Document(
        kind=raw.kind,
        uri=raw.uri,
        sha256=raw.others.digest(sha256),
        title=prose(info.get("title")) or raw.uri,
        version=str(info.get("version") or "0"),
        description=prose(info.get("description")),
        servers=found_servers,
        auth=security.with_undeclared(schemes, [found.auth for found in account.operations]),
        operations=tuple(account.operations),
        withheld=tuple(account.withheld),
        failed=tuple(account.failed),
        problems=tuple(raw.warnings.values()),
    )

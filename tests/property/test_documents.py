"""Any document: compiled with accounting that adds up, or a problem with its place. Never a traceback.

``ANVIL_DOCUMENTS`` is how many are tried; ``nox -s property`` tries many.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from corpus import checks
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from property.documents import METHODS, documents

from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.errors import Failed
from anvil_generator.project import open_project
from anvil_generator.report import left_out, report
from anvil_generator.sources import read
from anvil_generator.sources.yaml_text import write as write_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from anvil_generator.sources import Document

EXAMPLES = int(os.environ.get("ANVIL_DOCUMENTS", "60"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


def _project(folder: Path, raw: Any, *, as_yaml: bool) -> Path:
    document = folder / ("api.yaml" if as_yaml else "api.json")
    document.write_text(write_yaml(raw) if as_yaml else json.dumps(raw, indent=1), encoding="utf-8")
    manifest = f"anvil: 1\ndocument: {document.name}\nservice: api\nserver: https://api.example.com\n"
    (folder / "anvil.yaml").write_text(manifest, encoding="utf-8")
    return document


def _places(raw: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Method and path of each operation; "*" for a path item that is none, counted by other code."""
    wanted: Counter[tuple[str, str]] = Counter()
    for path, item in raw["paths"].items():
        if path.startswith("x-"):
            continue
        if not isinstance(item, dict):
            wanted[path, "*"] += 1
            continue
        known = set(METHODS) & item.keys()
        reference = item.get("$ref")
        if isinstance(reference, str):
            shared = raw["x-items"].get("I") if isinstance(raw["x-items"], dict) else None
            if reference != "#/x-items/I" or not _leads_to_object(raw, shared):
                wanted[path, "*"] += 1
            else:
                known |= set(METHODS) & _target(raw, shared).keys()
        wanted.update((path, method) for method in known)
    return wanted


def _target(raw: dict[str, Any], value: Any) -> Any:
    """The item, or MISSING where its own reference leads nowhere: it may be one too."""
    seen = 0
    while isinstance(value, dict) and isinstance(value.get("$ref"), str):
        seen += 1
        if value["$ref"] != "#/x-items/I" or seen > 1:
            return None
        value = raw["x-items"]["I"]
    return value


def _leads_to_object(raw: dict[str, Any], value: Any) -> bool:
    return isinstance(_target(raw, value), dict)


def _check_document(document: Document, raw: Any, lines: int) -> None:
    found = [*document.operations, *document.withheld, *document.failed]
    if document.kind is None:
        assert found == []
        assert [problem.severity for problem in document.problems] == ["error"]
    else:
        assert Counter((one.source.path, one.source.method) for one in found) == _places(raw)
        assert {problem.severity for problem in document.problems} <= {"warning"}
    problems = [*document.problems, *(one.problem for one in document.failed)]
    for position in [one.position for one in problems] + [one.position for one in document.withheld]:
        assert position.line is not None
        assert 1 <= position.line <= lines


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(raw=documents(), as_yaml=st.booleans())
def test_any_document_is_compiled_or_refused_with_a_place(folder, raw, as_yaml):
    path = _project(folder, raw, as_yaml=as_yaml)
    note(path.read_text(encoding="utf-8"))
    document = read(path)
    _check_document(document, raw, len(path.read_text(encoding="utf-8").split("\n")))
    try:
        made = compile_project(open_project(folder))
    except Failed as failed:
        told = failed.problems
        made = None
    if made is None:
        assert told
        assert all(problem.position.file for problem in told)
        return
    assert made.total == sum(_places(raw).values())
    accounting = report(made)["accounting"]
    assert sum(len(part) for part in accounting.values()) == made.total
    assert len(left_out(made)) == made.total - len(made.air.operations)
    assert [*checks.schemas(made), *checks.tool_names(made)] == []
    assert plan(made)

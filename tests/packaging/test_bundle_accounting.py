"""I6: every operation of a document is compiled, withheld with a reason, or failed with a position."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml

from anvil_generator.compiler import compile_project
from anvil_generator.project import open_project
from anvil_generator.report import report, summary
from anvil_generator.sources import Reason

pytestmark = pytest.mark.invariant("I6")
ROOT = Path(__file__).parents[2]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
DOCUMENTS = {
    "payments": ROOT / "examples/payments",
    "paypal": ROOT / "examples/paypal-payments",
    "notion": ROOT / "examples/notion",
    "petstore3": ROOT / "tests/corpus/documents/petstore3.yaml",
    "museum_31": ROOT / "tests/corpus/documents/museum_31.yaml",
    "box-v2026": ROOT / "tests/corpus/documents/box-v2026.json",
}
# Counted once with grep, so that a mistake shared by this test and the reader shows.
KNOWN = {"payments": 8, "paypal": 7, "notion": 24, "petstore3": 19, "museum_31": 8, "box-v2026": 3}
SERVER = "server: https://api.example.com\n"


def raw_document(target: Path) -> dict:
    if target.is_dir():
        said = yaml.safe_load((target / "anvil.yaml").read_text(encoding="utf-8"))
        target = target / said["document"]
    text = target.read_text(encoding="utf-8")
    return json.loads(text) if target.suffix == ".json" else yaml.safe_load(text)


def counted(raw: dict) -> set[tuple[str, str]]:
    """(METHOD, path) of every operation, by the keys of the path items and nothing else."""
    return {(method.upper(), path) for path, item in raw["paths"].items() for method in METHODS & item.keys()}


def command(target: Path, out: Path, tmp_path: Path) -> list[str]:
    made = [
        sys.executable,
        "-m",
        "anvil_generator",
        "compile",
        str(target),
        "--out",
        str(out),
        "--service",
        "x",
    ]
    if target.is_file():  # some of these name no absolute server
        manifest = tmp_path / "anvil.yaml"
        manifest.write_text(f"document: {target.name}\n{SERVER}", encoding="utf-8")
        made += ["--manifest", str(manifest)]
    return made


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_operation_is_accounted_for(name, tmp_path):
    target, out = DOCUMENTS[name], tmp_path / "out"
    done = subprocess.run(command(target, out, tmp_path), check=True, capture_output=True, encoding="utf-8")
    accounting = json.loads((out / "report.json").read_text())["accounting"]
    entries = [entry for kind in accounting.values() for entry in kind]
    there = counted(raw_document(target))
    assert len(there) == KNOWN[name]
    assert {(entry["method"], entry["path"]) for entry in entries} == there
    assert len(entries) == len(there), "each in exactly one list"
    check_words(accounting)

    numbers = re.search(
        r"^(\d+) operations in .*: (\d+) compiled.*, (\d+) withheld, (\d+) failed$", done.stdout, re.MULTILINE
    )
    lengths = [len(accounting[kind]) for kind in ("compiled", "withheld", "failed")]
    assert [int(number) for number in numbers.groups()] == [len(there), *lengths]


def check_words(accounting: dict) -> None:
    assert all(entry["reason"] in get_args(Reason) and entry["detail"] for entry in accounting["withheld"])
    assert all(re.match(r".+:\d+: \w+: .+", entry["problem"]) for entry in accounting["failed"])
    assert all(entry["line"] > 0 for kind in accounting.values() for entry in kind)


OK = {"responses": {"200": {"description": "ok"}}}
# One of each fate, small; what is expected of each.
MIXED = {
    "/good": {"get": {"operationId": "good", **OK}},
    "/trace": {"trace": {"operationId": "traced", **OK}},
    "/other": {"get": {"operationId": "other", "servers": [{"url": "https://elsewhere.example"}], **OK}},
    "/away": {"get": {"operationId": "away", "parameters": [{"$ref": "../other.json#/x"}], **OK}},
    "/lost": {"get": {"operationId": "lost", "parameters": [{"$ref": "#/components/parameters/no"}], **OK}},
    "/half/{id}": {"get": {"operationId": "half", **OK}},
    "/broken": {"get": "nothing"},
}


@pytest.fixture
def mixed(tmp_path):
    raw = {
        "openapi": "3.1.0",
        "info": {"title": "M", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": MIXED,
    }
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(raw, indent=1), encoding="utf-8")
    return path


def test_what_cannot_be_compiled_is_told_and_stops_nothing(mixed):
    compiled = compile_project(open_project(mixed))
    accounting = report(compiled)["accounting"]
    fates = {entry["path"]: kind for kind, entries in accounting.items() for entry in entries}
    assert fates == {
        "/good": "compiled",
        "/trace": "withheld",
        "/other": "withheld",
        "/away": "withheld",
        "/lost": "failed",
        "/half/{id}": "failed",
        "/broken": "failed",
    }
    check_words(accounting)
    assert summary(compiled) == "7 operations in mixed.json: 1 compiled (1 generated), 3 withheld, 3 failed"


def test_a_report_that_loses_an_operation_is_not_written(mixed):
    compiled = compile_project(open_project(mixed))
    air = compiled.air.model_copy(update={"operations": ()})
    object.__setattr__(compiled, "air", air)
    with pytest.raises(AssertionError, match="7 operations in the source, but 6"):
        report(compiled)

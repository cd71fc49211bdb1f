from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from anvil_generator.sources import document, read, read_bytes
from anvil_generator.sources.text import MAX_DEPTH

GOOD = {"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": {}}


def _error(data: bytes, uri: str = "api.yaml"):
    found = read_bytes(data, uri)
    assert found.kind is None
    assert found.operations == ()
    (problem,) = found.problems
    assert problem.severity == "error"
    assert problem.position.file == uri
    return problem.code, problem.position.line


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ("document_empty", 1)),
        (b" \n\n", ("document_empty", 1)),
        (b"# only a comment\n", ("document_empty", 1)),
        (b"openapi: 3.0.3\ninfo: \xff\n", ("not_utf8", 2)),
        (b"openapi: 3.0.3\npaths: [\n", ("invalid_yaml", 3)),
        (b"- a\n- b\n", ("not_openapi", 1)),
        (b"just a text\n", ("not_openapi", 1)),
        (b"a: 1\n", ("not_openapi", 1)),
        (b'# x\nswagger: "1.2"\npaths: {}\n', ("unsupported_version", 2)),
        (b'# x\nopenapi: "2.0"\npaths: {}\n', ("unsupported_version", 2)),
        (b'swagger: "2.0"\ninfo: {}\n', ("not_openapi", 1)),
        (b"info: {}\nopenapi: 3.2.0\npaths: {}\n", ("unsupported_version", 2)),
        (b"openapi: 31\npaths: {}\n", ("unsupported_version", 1)),
        (b"openapi: 3.0.3\npaths: []\n", ("not_openapi", 2)),
        (b"openapi: 3.0.3\n", ("not_openapi", 1)),
        (b"openapi: 3.0.3\npaths:\n  /a: {}\n  /a: {}\n", ("duplicate_path", 4)),
        (b"openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n    get: {}\n", ("duplicate_path", 5)),
    ],
)
def test_what_is_no_document_is_an_error_with_a_place(data, error):
    assert _error(data) == error


def test_json_errors_are_told_as_json_when_the_name_says_json():
    assert _error(b'{\n "openapi": "3.0.3",\n}', "api.json") == ("invalid_json", 3)


def test_a_flow_mapping_in_a_yaml_file_is_yaml():
    assert read_bytes(b"{openapi: 3.0.3, paths: {}}", "api.yaml").kind == "openapi-3.0"


def test_a_missing_file_is_an_error_too(tmp_path):
    (problem,) = read(tmp_path / "gone.yaml").problems
    assert (problem.severity, problem.code, problem.position.file) == ("error", "unreadable", "gone.yaml")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["zero", "pipe", "folder", "large"])
def test_only_regular_files_of_a_bounded_size_are_opened(tmp_path, monkeypatch, name):
    path = tmp_path / name
    if name == "zero":
        path = Path("/dev/zero")
    elif name == "pipe":
        os.mkfifo(path)
    elif name == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"x" * 11)
        monkeypatch.setattr("anvil_generator.sources.text.MAX_BYTES", 10)
    (problem,) = read(path).problems
    code = "document_too_large" if name == "large" else "not_a_file"
    assert (problem.severity, problem.code, problem.position.file) == ("error", code, name)


def test_a_deep_json_document_is_refused():
    data = json.dumps({**GOOD, "x-deep": None}).replace("null", "[" * 300 + "]" * 300)
    assert _error(data.encode(), "a.json")[0] == "document_too_deep"
    fine = json.dumps({**GOOD, "x-deep": None}).replace("null", "[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2))
    assert read_bytes(fine.encode(), "a.json").kind == "openapi-3.0"


def test_a_large_document_is_refused(monkeypatch):
    monkeypatch.setattr("anvil_generator.sources.text.MAX_BYTES", 10)
    assert _error(json.dumps(GOOD).encode()) == ("document_too_large", None)


@pytest.mark.parametrize(
    ("version", "kind"), [("'3.0.0'", "openapi-3.0"), ("3.1", "openapi-3.1"), ("3.1.2", "openapi-3.1")]
)
def test_versions(version, kind):
    assert read_bytes(f"openapi: {version}\npaths: {{}}\n".encode(), "a.yaml").kind == kind


def test_a_byte_order_mark_is_no_part_of_the_text():
    data = b"\xef\xbb\xbf" + json.dumps(GOOD).encode()
    assert read_bytes(data, "a.json").title == "T"


def test_the_digest_is_that_of_the_bytes():
    data = json.dumps(GOOD).encode()
    assert document.read_bytes(data, "a.json").sha256 == __import__("hashlib").sha256(data).hexdigest()


def test_other_duplicate_keys_are_warnings_with_a_place():
    data = (
        b"openapi: 3.0.3\ninfo:\n  title: A\n  version: '1'\n  title: B\n"
        b"servers: [{url: 'https://a'}]\npaths: {/a: {get: {}}}\n"
    )
    found = read_bytes(data, "a.yaml")
    assert found.title == "B"
    (problem,) = found.problems
    assert (problem.code, problem.severity) == ("duplicate_key", "warning")
    assert "line 5" in problem.message


def test_a_version_that_looks_like_a_date_or_number_is_text():
    found = read_bytes(b"openapi: 3.0.3\ninfo: {title: T, version: 2024-01-02}\npaths: {}\n", "a.yaml")
    assert found.version == "2024-01-02"


def test_missing_title_and_version_are_warned_of():
    found = read_bytes(b"openapi: 3.1.0\nservers: [{url: 'https://a'}]\n", "a.yaml")
    assert [problem.code for problem in found.problems] == ["no_operations", "info_missing", "info_missing"]
    assert (found.title, found.version) == ("a.yaml", "0")

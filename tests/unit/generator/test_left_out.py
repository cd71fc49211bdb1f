"""What is not in a bundle is said on the terminal; a document without a usable operation makes none."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\nservers: [{url: https://shop.example}]\n"
GOOD = "  /items:\n    get: {operationId: items.list, responses: {'200': {description: All.}}}\n"
FAILING = "  /items/{id}:\n    get: {operationId: items.get, responses: {'200': {description: One.}}}\n"
WITHHELD = "  /trace:\n    trace: {operationId: items.trace, responses: {'200': {description: Echo.}}}\n"


def anvil(*arguments):
    command = [sys.executable, "-m", "anvil_generator", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.fixture
def document(tmp_path):
    def write(paths):
        path = tmp_path / "openapi.yaml"
        path.write_text(HEAD + paths, encoding="utf-8")
        return path

    return write


@pytest.mark.invariant("I6")
@pytest.mark.parametrize("command", [["compile", "--out"], ["inspect"]])
def test_each_operation_left_out_is_told_with_its_place_and_reason(document, tmp_path, command):
    path = document("paths:\n" + GOOD + FAILING + WITHHELD)
    options = [*command[1:], tmp_path / "bundle"] if command[1:] else []
    done = anvil(command[0], path, "--service", "shop", *options)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("openapi.yaml:")]
    assert any("items.get" in line or "/items/{id}" in line for line in told), told
    reason = "[TRACE /trace] (method_unsupported)"
    assert any("withheld" in line and reason in line for line in told), told


@pytest.mark.parametrize(
    ("paths", "said"),
    [("paths: {}\n", "has no operations"), ("paths:\n" + FAILING, "none of the document's 1 operations")],
)
def test_a_document_without_a_usable_operation_leaves_the_old_bundle(document, tmp_path, paths, said):
    out = tmp_path / "bundle"
    assert anvil("compile", document("paths:\n" + GOOD), "--service", "shop", "--out", out).returncode == 0
    before = (out / "bundle.json").read_bytes()
    done = anvil("compile", document(paths), "--service", "shop", "--out", out)
    assert done.returncode == 1
    assert said in done.stderr
    assert (out / "bundle.json").read_bytes() == before


def test_a_policy_for_a_bare_document_has_no_place_to_be_written_down(document, tmp_path):
    path = document("paths:\n" + GOOD)
    done = anvil("compile", path, "--service", "shop", "--out", tmp_path / "b", "--human-approval", "all")
    assert done.returncode == 2
    assert "--manifest" in done.stderr
    assert not (tmp_path / "b").exists()

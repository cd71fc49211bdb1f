"""What the packages say of themselves: licence, versions that belong together, imports that are declared."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
# import name: distribution, where they differ
DISTRIBUTIONS = {
    "hookcore": "anvil-core",
    "mcp_types": "mcp-types",
    "jsonschema_rs": "jsonschema-rs",
    "ruamel": "ruamel.yaml",
    "yaml": "pyyaml",
    "pydantic_core": "pydantic",  # which pins it
}
NEWER, IN_A_BUNDLE = {"tomllib", "_sha2"}, {"bundle_rings", "generated_calls"}


def project(package):
    return tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def needs(package):
    """{distribution: the rest of the requirement}."""
    found = (re.match(r"([a-zA-Z0-9._-]+)(.*)", need).groups() for need in project(package)["dependencies"])
    return dict(found)


def imported(package):
    """The distributions whose modules the package's sources import."""
    found = set()
    for path in (package / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    foreign = found - sys.stdlib_module_names - NEWER - IN_A_BUNDLE
    own = {path.name.removesuffix(".py") for path in (package / "src").iterdir()}
    return {DISTRIBUTIONS.get(name, name.replace("_", "-")) for name in foreign - own}


def test_there_are_five():
    assert [package.name for package in PACKAGES] == ["core", "generator", "lab", "runtime", "shims"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_whatever_is_imported_is_declared(package):
    assert sorted(imported(package) - set(needs(package))) == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_it_has_a_licence_and_a_readme(package):
    said = project(package)
    assert (said["license"], said["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert (package / said["readme"]).read_text(encoding="utf-8").startswith(f"# {said['name']}\n")


@pytest.mark.parametrize(
    "path", [*(f"packages/{package.name}" for package in PACKAGES), "packages/runtime/src/anvil_runtime"]
)
def test_each_copy_of_the_licence_is_the_licence(path):
    assert (ROOT / path / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("path", sorted(ROOT.glob("[et]*/**/NOTICE")), ids=lambda path: path.parent.name)
def test_a_document_of_others_comes_with_its_licence(path):
    """Apache-2.0 has its text at the root; MIT asks for its own text and the copyright line."""
    text = path.read_text(encoding="utf-8")
    assert "Apache-2.0" in text or "MIT" in text
    if "MIT" in text:
        assert re.search(r"^Copyright \(c\) .+$", text, re.MULTILINE)
        assert "Permission is hereby granted" in text
        assert "WITHOUT WARRANTY OF ANY KIND" in text


def test_all_have_one_version_and_ask_for_it():
    (version,) = {project(package)["version"] for package in PACKAGES}
    for package in PACKAGES:
        for name, rest in needs(package).items():
            assert not name.startswith("anvil-") or rest == f"=={version}", (package.name, name)


def test_one_floor_for_each_requirement():
    floors = {}
    for package in PACKAGES:
        for name, rest in needs(package).items():
            floors.setdefault(name, set()).add(rest)
    assert {name: rests for name, rests in floors.items() if len(rests) > 1} == {}

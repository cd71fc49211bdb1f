"""The plan of a bundle: what is copied, dumped and rendered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

import anvil_runtime
import hookcore
from anvil_core import air_file
from anvil_core.clients import Clients
from anvil_generator.approvals import Approval, Approvals, fingerprint, write_approvals
from anvil_generator.bundle import plan, plugin_version
from anvil_generator.harnesses import environment, known, yaml_text

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def planned(project, compiled):
    """A function: {path: file} of the plan for a project with these operations approved."""

    def make(*approved, author=None, **more):
        folder = project(**more)
        air = compiled(folder).air
        entries = {
            one.id: Approval(
                fingerprint=fingerprint(one, air.service), source_fingerprint="", by="A", date="2026-11-30"
            )
            for one in air.operations
            if one.name in approved
        }
        write_approvals(folder / "approvals.yaml", Approvals(operations=entries))
        return {file.path: file for file in plan(compiled(folder), author)}

    return make


def test_copied_files_are_the_bytes_of_sources(planned):
    files = planned()
    core = Path(hookcore.__file__).read_bytes()
    assert files["plugin/hookcore.py"].data == files["mcp/lib/hookcore.py"].data == core
    runtime = Path(anvil_runtime.__file__).parent
    assert files["mcp/server.py"].data == (runtime / "launcher.py").read_bytes()
    carried = {
        path.removeprefix("mcp/lib/anvil_runtime/")
        for path in files
        if path.startswith("mcp/lib/anvil_runtime/")
    }
    assert carried == {path.name for path in runtime.glob("*.py")} - {"launcher.py"}
    assert {file.kind for path, file in files.items() if path.endswith((".py", ".lock"))} == {"copied"}


def test_dumped_files_are_models_and_read_back(planned):
    files = planned()
    assert {path for path, file in files.items() if file.kind == "dumped"} == {
        "air.json", "bundle.json", "catalog.json", "mcp/clients.json", "report.json",
        "tests/conformance.json",
    }  # fmt: skip
    air = air_file.read(files["air.json"].data)
    assert len(air.operations) == 5
    lines = files["air.json"].data.splitlines()
    assert [line[:6] for line in lines].count(b'{"id":') == 5, "one operation per line"
    assert files["air.json"].data.isascii()


def test_the_plan_is_sorted_and_each_path_once(project, compiled):
    paths = [file.path for file in plan(compiled(project()))]
    assert paths == sorted(set(paths))


def test_only_approved_operations_are_in_the_skill(planned):
    files = planned("get_pet", "create_refund")
    skill = "".join(file.data.decode() for path, file in files.items() if path.startswith("skill/"))
    assert "`get_pet`" in skill
    assert "`create_refund`" in skill
    assert not [name for name in ("add_pet", "delete_pet", "list_pets") if name in skill]
    refund = files["skill/reference/other.md"].data.decode()
    assert "Changes data; risk: financial; cannot be undone." in refund
    assert "- `confirm` (required)" in refund
    assert "- `idempotency_key` (required)" in refund


def test_the_readme_tells_the_state_of_every_operation(planned):
    readme = planned("get_pet")["README.md"].data.decode()
    rows = [line.split("|") for line in readme.splitlines() if line.startswith("| `")]
    assert {row[1].strip(): row[5].strip() for row in rows} == {
        "`add_pet`": "generated", "`create_refund`": "generated", "`delete_pet`": "generated",
        "`get_pet`": "approved", "`list_pets`": "generated",
    }  # fmt: skip


HOSTILE = "`\n\n# Fake\n\n- `x`\n```\n<script>\x1b[2J\u202eevil\u200b](http://evil.example)|"


def test_no_word_of_a_document_writes_a_line_of_a_page(planned):
    body = {"content": {"application/json": {"schema": {"properties": {HOSTILE: {}}, "required": [HOSTILE]}}}}
    parameter = {"in": "query", "schema": {"type": "string"}}
    operation = {
        "operationId": "addPet",
        "tags": [HOSTILE],
        "summary": HOSTILE,
        "description": "# Fake\n\n<script>",
        "parameters": [{"name": HOSTILE, **parameter}, {"name": "q", "description": HOSTILE, **parameter}],
        "requestBody": body,
        "responses": {"200": {"description": "ok"}},
    }
    said = f"operations:\n  addPet:\n    confirmation: {{reason: {json.dumps(HOSTILE)}}}\n"
    files = planned(
        "add_pet",
        paths={"/pets": {"post": operation}},
        manifest=said,
        info={"title": HOSTILE, "version": HOSTILE},
    )
    pages = {path: file.data.decode() for path, file in files.items() if path.endswith(".md")}
    assert len([path for path in pages if path.startswith("skill/")]) == 2
    for path, text in pages.items():
        assert not {"\x1b", "\u202e", "\u200b"} & set(text), path
        for line in text.splitlines():
            tag = line.startswith("- `body`") or re.search(r"(?<!\\)(?<!\\U0000005c)<script>", line)
            assert tag is True or tag is None, f"{path}: outside of code"
            assert not line.startswith(("# Fake", "```\n", "- `x`", "<")), path
    skill = pages["skill/SKILL.md"]
    assert [line for line in skill.splitlines() if line.startswith("#")][1:2] == ["## Operations"]
    (link,) = [line for line in skill.splitlines() if line.startswith("### [")]
    assert link.count("](") == 1
    (reference,) = [text for path, text in pages.items() if "/reference/" in path]
    assert [line for line in reference.splitlines() if line.startswith("#")][1:] == ["## `add_pet`"]
    (argument,) = [line for line in reference.splitlines() if line.startswith("- `body`")]
    assert argument.count("`") == 4
    (row,) = [line for line in pages["README.md"].splitlines() if line.startswith("| `")]
    assert row.replace("\\|", "").count("|") == 6


@pytest.mark.parametrize(
    ("title", "named", "owner"),
    [
        ("Pets", "call the Pets API through", "Pets API owner"),
        ("Pets API", "call the Pets API through", "Pets API owner"),
        ("Pets api v2", "call the Pets api v2 through", "Pets api v2 owner"),
        ("Capital", "call the Capital API through", "Capital API owner"),
        ("\u200b", "call the pets API through", "pets API owner"),
    ],
)
def test_an_api_is_called_so_once(planned, title, named, owner):
    files = planned("get_pet", info={"title": title, "version": "1"})
    assert named in files["skill/SKILL.md"].data.decode()
    assert json.loads(files[".claude-plugin/plugin.json"].data)["author"]["name"] == owner


def test_the_author_is_the_manifest_s_or_the_api_s_owner(planned):
    plugin = json.loads(planned(author='A "quoted" team')[".claude-plugin/plugin.json"].data)
    assert plugin["author"]["name"] == 'A "quoted" team'
    assert json.loads(planned()[".claude-plugin/plugin.json"].data)["author"]["name"] == "Pets API owner"


@pytest.mark.parametrize(
    ("version", "revision", "wanted"),
    [
        ("1.2", 1, "1.2.1"),
        ("1.2.3", 4, "1.2.3004"),
        ("v2", 1, "2.0.1"),
        ("2024-01-15", 2, "2024.1.15002"),
        ("", 1, "0.0.1"),
        ("1.0.0-beta.2", 1, "1.0.1"),
        ("01.002", 0, "1.2.0"),
        ("20260628123.1.5", 7, "20260628123.1.5007"),
        ("9" * 5000, 1, "999999999999.0.1"),
        ("1.2." + "9" * 5000, 1, "1.2.999999999999001"),
        ("1.2." + "0" * 5000 + "3", 1, "1.2.3001"),
        ("\u0661.2", 1, "2.0.1"),
    ],
)
def test_the_plugin_s_version_is_semantic(version, revision, wanted):
    assert plugin_version(version, revision) == wanted


def test_the_sources_of_the_server_come_with_their_licence(planned):
    licence = planned()["mcp/LICENSE"]
    assert (licence.kind, licence.data) == ("copied", (ROOT / "LICENSE").read_bytes())


def test_a_later_revision_is_newer():
    versions = [plugin_version("1.2.3", revision) for revision in (1, 2, 9, 10, 99, 100)]
    numbers = [tuple(int(part) for part in one.split(".")) for one in versions]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "text", ["plain", 'q"uo\\te', "é ü 日本", "🐕", "a: b # c", "\u2028\x00\x7f\ufeff", "- x\n---\n"]
)
def test_a_quoted_text_is_yaml(text):
    assert yaml.safe_load(f"key: {yaml_text(text)}\n") == {"key": text}
    assert len(yaml_text(text).splitlines()) == 1


def test_a_template_that_misses_a_value_is_an_error():
    with pytest.raises(Exception, match="is undefined"):
        environment().from_string("{{ nothing }}").render()


def test_every_harness_has_what_the_generator_asks_of_it():
    for harness in known():
        names = harness.names("my-api")
        assert names["prefix"].endswith("__")
        assert not re.search(r"\{[a-z]", "".join(names.values()))
        assert harness.contract["install"]["text"].format_map(names)
        assert list(harness.templates())
        assert [data for _, data in harness.copies() if not data] == []


def test_the_server_gets_the_clients_of_the_bundle_s_harnesses(planned):
    """From their contract.toml, each with what proves a person there, or that nothing does."""
    clients = Clients.model_validate_json(planned()["mcp/clients.json"].data)
    assert clients.clients == tuple(client for client in (harness.client() for harness in known()) if client)
    assert {client.name: client.proof for client in clients.clients}.items() >= {
        ("claude-code", "tool_meta"),
        ("codex-mcp-client", "form"),
    }

"""I5: the running server lists what is approved in the catalog, and the preview tool, and nothing else.

The bundle's own launcher runs, as its ``mcp.json`` says, with the sources that the bundle carries. Only
the third-party packages are not installed by it: a cache is laid out with those of the tests' own
environment, so that no network is needed (installing by hash is tested in tests/unit/runtime).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.carried import lay_out_cache

from anvil_generator.bundle import plan
from anvil_generator.compiler import compile_project
from anvil_generator.files import write_tree
from anvil_generator.project import open_project

pytestmark = [pytest.mark.invariant("I5"), pytest.mark.timeout(180)]
ROOT = Path(__file__).parents[2]
EXAMPLES = ("payments", "paypal-payments", "notion")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("served")
    for name in EXAMPLES:
        compiled = compile_project(open_project(ROOT / "examples" / name))
        write_tree(parent / name, {file.path: file.data for file in plan(compiled)})
    return {name: parent / name for name in EXAMPLES}


@pytest.fixture(scope="module")
def cache(bundles, tmp_path_factory) -> Path:
    """A folder in which the launcher finds its packages."""
    return lay_out_cache(bundles["payments"], tmp_path_factory.mktemp("cache"))


async def ask(bundle: Path, cache: Path, era: str, question):
    (said,) = json.loads((bundle / "plugin/claude/mcp.json").read_text())["mcpServers"].values()
    assert (said["type"], said["command"]) == ("stdio", "python3")
    arguments = [one.replace("${CLAUDE_PLUGIN_ROOT}", str(bundle)) for one in said["args"]]
    assert arguments[-1] == "serve"
    state = cache.with_name(f"{cache.name}-state")
    arguments[-1:] = ["--cache", str(cache), "--state", str(state), "serve"]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env={}, cwd=cache)
    async with Client(stdio_client(parameters), mode=era) as client:
        return await question(client)


@pytest.fixture(scope="module")
def listed(bundles, cache):
    """A function: the tools that the server of an example lists, asked once."""
    kept: dict[str, list] = {}

    def tools(name: str) -> list:
        if name not in kept:

            async def question(client):
                return (await client.list_tools()).tools

            kept[name] = asyncio.run(ask(bundles[name], cache, "auto", question))
        return kept[name]

    return tools


def catalog(bundle: Path) -> dict:
    return json.loads((bundle / "catalog.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_served_is_approved(name, bundles, listed):
    said = catalog(bundles[name])
    approved = [entry["tool"] for entry in said["operations"] if entry["state"] == "approved"]
    assert said["preview"] == "preview"
    assert [tool.name for tool in listed(name)] == sorted([*approved, said["preview"]])
    assert 0 < len(approved) < len(said["operations"]), "the example says nothing: all or none is approved"


def test_both_eras_of_the_protocol_list_the_same(bundles, cache, listed):
    async def question(client):
        return (await client.list_tools()).tools

    legacy = asyncio.run(ask(bundles["payments"], cache, "legacy", question))
    assert [tool.name for tool in legacy] == [tool.name for tool in listed("payments")]


def test_a_withdrawn_approval_is_not_served(bundles, cache, tmp_path):
    """The comparison can fail, and the launcher serves the bundle's own data."""
    bundle = tmp_path / "bundle"
    write_tree(bundle, {path.relative_to(bundles["payments"]).as_posix(): path.read_bytes()
                        for path in bundles["payments"].rglob("*") if path.is_file()})  # fmt: skip
    air = json.loads((bundle / "air.json").read_text())
    (refund,) = [one for one in air["operations"] if one["id"] == "payments.refunds.create"]
    refund["state"] = "review_required"
    (bundle / "air.json").write_text(json.dumps(air), encoding="utf-8")

    async def question(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, await client.call_tool(refund["name"], {})

    names, answer = asyncio.run(ask(bundle, cache, "auto", question))
    assert refund["name"] not in names
    assert answer.is_error
    assert json.loads(answer.content[0].text)["error"]["code"] == "operation_not_approved"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_tool_has_words_and_valid_schemas(name, listed):
    for tool in listed(name):
        assert tool.description, tool.name
        assert tool.title, tool.name
        for schema in (tool.input_schema, tool.output_schema):
            draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
            jsonschema_rs.meta.validate(draft)
            jsonschema_rs.Draft202012Validator(schema)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert not {"oneOf", "anyOf", "allOf", "not", "if", "$ref"} & tool.input_schema.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_annotations_are_as_the_contract_says(name, bundles, listed):
    entries = {entry["tool"]: entry for entry in catalog(bundles[name])["operations"]}
    for tool in listed(name):
        entry = entries.get(tool.name)
        read = entry is None or entry["effect"] == "read"
        hints = tool.annotations
        assert hints.read_only_hint is read, tool.name
        assert hints.destructive_hint is (not read and entry["reversible"] is not True), tool.name
        assert hints.idempotent_hint is (entry is None or entry["idempotency"]["mode"] != "none"), tool.name
        assert hints.open_world_hint is False, tool.name


@pytest.mark.invariant("I7")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_control_arguments_have_the_catalog_s_names(name, bundles, listed):
    air = json.loads((bundles[name] / "air.json").read_text())
    own = {one["name"]: one["input"]["json_schema"]["properties"].keys() for one in air["operations"]}
    tools = {tool.name: tool for tool in listed(name)}
    for entry in catalog(bundles[name])["operations"]:
        if entry["state"] != "approved":
            continue
        names = {
            entry["idempotency"]["argument"],
            entry["confirmation"]["argument"],
            entry["dry_run_argument"],
        }
        served = tools[entry["tool"]].input_schema["properties"].keys()
        assert served - own[entry["tool"]] == names - {None}
        assert not own[entry["tool"]] & names

"""What the tool list costs: the bytes that the server writes, and an estimate of a model's tokens."""

from __future__ import annotations

import json

import pytest

from anvil_core.clients import Clients
from anvil_generator import harnesses
from anvil_generator.budget import BYTES_PER_TOKEN, of_all, of_served
from anvil_generator.report import report
from anvil_runtime.bundle import Bundle
from anvil_runtime.server import served_tools

OK = {"responses": {"200": {"description": "ok"}}}
LONG = {"/a": {"get": {"operationId": "look", "description": "Ä" * 400, **OK}}}


@pytest.fixture
def approved(project, compiled, cli):
    """A function: a compiled project with these operations approved."""

    def make(*names, paths=None, manifest=""):
        folder = project(paths, manifest)
        if names:
            assert cli("approve", folder, *names).returncode == 0
        return compiled(folder)

    return make


def test_the_bytes_are_those_of_the_server_s_list(approved):
    made = approved("list_pets", "add_pet", "create_refund", manifest="human_approval: unsafe\n")
    clients = harnesses.clients(made.harnesses)
    sent = {
        tool.name: len(tool.model_dump_json(by_alias=True, exclude_none=True).encode())
        for tool in served_tools(Bundle(made.air, clients=clients))
    }
    found = of_served(made.air, clients)
    assert {one["tool"]: one["bytes"] for one in found["by_tool"]} == sent
    assert list(sent) == ["add_pet", "create_refund", "list_pets", "preview"]
    assert (found["tools"], found["bytes"]) == (4, sum(sent.values()))


def test_tokens_are_of_what_a_model_is_shown(approved):
    made = approved(paths=LONG)
    (one,) = of_all(made.air, Clients())["by_tool"]
    (operation,) = made.air.operations
    shown = {
        "name": "look",
        "description": operation.description,
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
    size = len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode())
    assert size > 800, "an umlaut has two bytes"
    assert (one["tokens"], one["bytes"] > size) == (-(-size // BYTES_PER_TOKEN), True)


def test_the_report_has_the_budget_of_what_is_served(approved):
    made = report(approved("list_pets", "get_pet"))["budget"]
    assert [one["tool"] for one in made["by_tool"]] == ["get_pet", "list_pets"]
    assert made["tokens"] == sum(one["tokens"] for one in made["by_tool"]) > 0
    assert "4 bytes" in made["how"]


def test_nothing_served_costs_nothing(approved):
    made = report(approved())["budget"]
    assert (made["tools"], made["bytes"], made["tokens"], made["by_tool"]) == (0, 0, 0, [])


def test_of_all_counts_what_is_not_approved_too(approved):
    made = approved("list_pets")
    assert of_all(made.air, Clients())["tools"] == len(made.air.operations) == 5
    assert of_all(made.air, Clients())["bytes"] > of_served(made.air, Clients())["bytes"]


def test_a_description_that_is_no_unicode(approved):
    made = approved(paths={"/a": {"get": {"operationId": "look", "description": "\ud800", **OK}}})
    assert of_all(made.air, Clients())["tools"] == 1


def test_inspect_shows_the_dearest_first(cli, project):
    folder = project({**LONG, "/b": {"get": {"operationId": "small", **OK}}})
    assert cli("approve", folder, "small").returncode == 0
    lines = cli("inspect", folder, "--budget").stdout.splitlines()
    rows = [line.split() for line in lines if line.endswith(" tokens") and " bytes  " in line]
    assert [(row[0], row[1]) for row in rows] == [("look", "generated"), ("small", "approved")]
    assert lines[-3].startswith("served: 1 tools, ")
    assert lines[-2].startswith("if all were approved: 2 tools, ")
    said = json.loads(cli("inspect", folder, "--budget", "--json").stdout)
    assert (said["budget"]["tools"], said["budget_of_all"]["tools"]) == (1, 2)
    assert f"{said['budget_of_all']['bytes']:,} bytes" in lines[-2]
    assert "budget_of_all" not in json.loads(cli("inspect", folder, "--json").stdout)

from __future__ import annotations

import pytest

from anvil_lab.inside.probe_evidence import FACETS, Evidence, shape


def got(method, server="api", **params):
    return {"name": server, "kind": "got", "value": {"id": 1, "method": method, "params": params}}


def hook(name="guard", env=None, **stdin):
    return {"name": name, "stdin": stdin, "env": env or {}}


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        (Evidence(server=[got("tools/call")], own_server="api", answered=True), "ran"),
        (Evidence(server=[got("tools/call", "other")], own_server="api", answered=True), "ran elsewhere"),
        (Evidence(server=[got("tools/list")], answered=True, is_error=True), "blocked"),
        (Evidence(answered=True), "answered without a call"),
        (Evidence(), "unanswered"),
    ],
)
def test_outcome(evidence, outcome):
    assert FACETS["outcome"](evidence) == outcome


def test_told_is_free_of_what_differs_from_run_to_run():
    said = "[/run/7/plugin/hook.py] of 7f0d1c1e-0000-4000-8000-123456789abc at 127.0.0.1:4711 in /run/7"
    evidence = Evidence(told=said, paths={"/run/7": "<root>", "/run/7/plugin": "<plugin>"})
    assert FACETS["told"](evidence) == "[<plugin>/hook.py] of <uuid> at <address> in <root>"


def test_reaches_names_the_marked_words_once():
    assert FACETS["reaches"](Evidence(after=["THE-REASON, THE-REASON", "x THE-CONTEXT"])) == [
        "THE-CONTEXT",
        "THE-REASON",
    ]


def test_stdin_is_told_by_kinds_and_the_arguments_are_not_looked_into():
    evidence = Evidence(
        hooks=[hook(tool_input={"a": 1}, mcp_server={"name": "x"}, n=1, flag=True, gone=None)]
    )
    wanted = {
        "tool_input": "object",
        "mcp_server": {"name": "string"},
        "n": "number",
        "flag": "boolean",
        "gone": "null",
    }
    assert FACETS["stdin"](evidence) == wanted
    assert FACETS["stdin"](Evidence()) is None
    assert shape([1]) == "array"


def test_env_leaves_out_what_was_given_and_what_a_shell_adds():
    environment = {"PATH": "x", "PWD": "y", "ROOT": "/run/plugin", "OTHER": "/run/plugin/x"}
    evidence = Evidence(hooks=[hook(env=environment)], given={"PATH": "x"}, paths={"/run/plugin": "<plugin>"})
    assert FACETS["env"](evidence) == {"ROOT": "<plugin>", "OTHER": "set"}


def test_inherited_says_of_each_name_whether_the_server_has_it():
    server = [{"name": "api", "kind": "env", "value": {"HOME": "x", "MORE": "y"}}]
    evidence = Evidence(server=server, given={"HOME": "x", "KEY": "z"})
    assert FACETS["inherited"](evidence) == {"HOME": True, "KEY": False}
    assert FACETS["inherited"](Evidence()) is None


def test_handshake_ends_with_the_list_of_tools():
    steps = [got("server/discover"), got("initialize", protocolVersion="1", capabilities={"roots": {}})]
    evidence = Evidence(server=[*steps, got("tools/list"), got("tools/call")])
    assert FACETS["handshake"](evidence) == {
        "methods": ["server/discover", "initialize", "tools/list"],
        "protocol": "1",
        "capabilities": {"roots": {}},
    }


@pytest.mark.parametrize(("use", "joined"), [("t1", True), ("t2", False), (None, False)])
def test_joined_needs_the_same_id_on_both_sides(use, joined):
    call = got("tools/call", _meta={"claudecode/toolUseId": use} if use else {})
    assert FACETS["joined"](Evidence(server=[call], hooks=[hook(tool_use_id="t1")])) is joined
    assert FACETS["joined"](Evidence()) is False


def test_elicited_is_the_answer_to_the_servers_question():
    answer = {"name": "api", "kind": "got", "value": {"id": "the-question", "result": {"action": "cancel"}}}
    assert FACETS["elicited"](Evidence(server=[got("tools/call"), answer])) == {"action": "cancel"}

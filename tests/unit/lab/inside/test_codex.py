from __future__ import annotations

import json

import pytest
import tomllib

from anvil_lab.inside import stage
from anvil_lab.inside.codex import Codex, trust_entries
from anvil_lab.inside.place import Place, Seen, read_json, write_json
from anvil_lab.inside.records import Asked, Call, Run, ServedTool

PLUGIN = "anvil-pay@market"


@pytest.fixture
def place(tmp_path):
    bundle = tmp_path / "bundle"
    manifest = {"name": "anvil-pay", "hooks": "./plugin/codex/hooks.json"}
    write_json(bundle / ".codex-plugin" / "plugin.json", manifest)
    write_json(bundle / ".agents" / "plugins" / "marketplace.json", {"name": "market"})
    write_json(bundle / "plugin" / "codex" / "mcp.json", {"mcpServers": {"pay-1": {"command": "x"}}})
    hook = {"type": "command", "command": "true", "timeout": 10}
    hooks = {"PreToolUse": [{"matcher": "^mcp__pay_1__", "hooks": [hook]}]}
    write_json(bundle / "plugin" / "codex" / "hooks.json", {"hooks": hooks})
    folders = [tmp_path / name for name in ("home", "project")]
    for folder in folders:
        folder.mkdir()
    return Place(*folders, bundle, tmp_path / "scratch", "http://model", "http://api")


def run(**change):
    return Run(harness="codex", bundle="/bundle", **{"calls": [Call(tool="t")], **change})


def settled(place, **change):
    Codex().settle(place, run(**change))
    return tomllib.loads((place.home / ".codex" / "config.toml").read_text())


def test_it_is_found_by_its_name():
    assert isinstance(stage.driver("codex"), Codex)
    assert stage.driver("codex").shapes == ("plain", "code")
    with pytest.raises(ModuleNotFoundError):
        stage.driver("nobody")


def test_names(place):
    codex = Codex()
    assert codex.tool_name(place, Call(tool="refunds")) == "mcp__pay_1__refunds"
    assert codex.tool_name(place, Call(foreign="echo")) == "mcp__foreign__echo"
    assert codex.arguments(Call(shell="true")) == {"cmd": "true"}
    assert codex.arguments(Call(tool="t", args={"a": 1}, filler=2)) == {"a": 1, "filler": "xx"}


@pytest.mark.parametrize(
    ("grant", "mode"),
    [("none", None), ("allow", {"default_tools_approval_mode": "approve"}), ("bypass", None)],
)
def test_a_grant_is_the_users_own_setting(place, grant, mode):
    config = settled(place, grant=grant)
    assert config.get("plugins", {}).get(PLUGIN, {}).get("mcp_servers", {}).get("pay-1") == mode
    command = Codex().command(place, run(grant=grant))
    assert ("--dangerously-bypass-approvals-and-sandbox" in command) == (grant == "bypass")
    assert ("read-only" in command) == (grant != "bypass")


def test_the_shape_is_chosen_by_the_models_name(place):
    assert settled(place)["model"] == "scripted-model"
    assert settled(place, shape="code")["model"] == "gpt-6.2-sol"
    with Codex().model(run(shape="code")) as model:
        assert model.shape == "code"


@pytest.mark.parametrize(("trust", "entry", "flag"), [("entry", 1, 0), ("bypass", 0, 1), ("none", 0, 0)])
def test_trust_is_an_entry_a_flag_or_not_there(place, trust, entry, flag):
    assert len(settled(place, trust=trust).get("hooks", {}).get("state", {})) == entry
    assert Codex().command(place, run(trust=trust)).count("--dangerously-bypass-hook-trust") == flag


def test_the_entry_is_what_the_program_writes(place):
    """The digest of a definition that `hooks/list` of the real program gave."""
    ((key, value),) = trust_entries(PLUGIN, place.bundle)
    assert key == f"{PLUGIN}:plugin/codex/hooks.json:pre_tool_use:0:0"
    assert value == "sha256:c0959232e201b367cfdf94f1d691fa7697da55c986d1ca43f91ffbe1d08524c6"


def test_hooks_are_switched_off_in_the_project(place):
    Codex().settle(place, run(hooks=False))
    assert tomllib.loads((place.project / ".codex" / "config.toml").read_text()) == {
        "features": {"hooks": False}
    }


def test_servers_of_the_user(place):
    config = settled(place, servers={"mine": [ServedTool("a")]}, calls=[Call(foreign="echo")])
    assert sorted(config["mcp_servers"]) == ["foreign", "mine"]
    Codex().replace_server(place, [ServedTool("invented")])
    servers = read_json(place.bundle / "plugin" / "codex" / "mcp.json")["mcpServers"]
    assert list(servers) == ["pay-1"]
    assert "invented" in servers["pay-1"]["args"][-1]


def plain(text, wall="Wall time: 0.0042 seconds\nOutput:"):
    return [{"type": "input_text", "text": part} for part in (wall, text)]


BLOCKED = "Tool call blocked by PreToolUse hook: no. Tool: mcp__pay_1__t"
NEVER = "MCP tool call requires approval, but approval policy is never"


@pytest.mark.parametrize(
    ("kind", "output", "text", "by"),
    [
        ("function_call", plain("fine"), "fine", None),
        ("function_call", 'Wall time: 0.1 seconds\nOutput:\n{"data": 1}', '{"data": 1}', None),
        ("function_call", plain("broken"), "broken", "server"),
        ("function_call", plain('{"error": {"code": "x"}}'), '{"error": {"code": "x"}}', "server"),
        ("function_call", BLOCKED, BLOCKED, "hook"),
        ("function_call", plain(NEVER), NEVER, "harness"),
        ("function_call", "unsupported call: mcp__x", "unsupported call: mcp__x", "harness"),
        (
            "function_call",
            "Chunk ID: 1\nWall time: 0 seconds\nProcess exited with code 0\nOutput:\nhi\n",
            "hi\n",
            None,
        ),
        (
            "function_call",
            "Wall time: 0 seconds\nProcess exited with code 1\nOutput:\nhi\n",
            "hi\n",
            "server",
        ),
        ("custom_tool_call", '{"content":[{"type":"text","text":"a"}],"isError":false}', "a", None),
        ("custom_tool_call", '{"content":[{"type":"text","text":"a"}],"isError":true}', "a", "server"),
        ("custom_tool_call", '{"content":[],"structuredContent":{"d":1},"isError":false}', '{"d": 1}', None),
        ("custom_tool_call", '{"exit_code":1,"output":"hi"}', "hi", "server"),
        ("custom_tool_call", "Script error:\n" + BLOCKED, "Script error:\n" + BLOCKED, "hook"),
    ],
)
def test_what_the_model_was_told(kind, output, text, by):
    codex = Codex()
    failed = {"type": "mcp_tool_call", "status": "failed", "result": {"content": [{"text": "broken"}]}}
    codex.report(json.dumps({"type": "item.completed", "item": failed}))
    if kind == "custom_tool_call":
        output = plain(output, "Script completed\nWall time 0.0 seconds\nOutput:\n")
    word = {"type": "message", "role": "developer", "content": [{"text": "a hook's word"}]}
    items = [
        {"type": "message", "role": "developer", "content": [{"text": "before"}]},
        {"type": kind, "call_id": "call_0000"},
        word,
        {"type": f"{kind}_output", "call_id": "call_0000", "output": output},
    ]
    seen = codex.seen([{"input": items}, {"input": []}], "call_0000")
    assert (seen.answered, seen.text, seen.extra) == (True, text, ["a hook's word"])
    assert codex.refused_by(seen) == by
    assert codex.absent(seen) == ("unsupported" in text)
    assert codex.seen([{"input": items}], "call_0001") == Seen(False, False, "", [])


@pytest.mark.parametrize(
    ("change", "policy", "access"),
    [
        ({}, "on-request", "read-only"),
        ({"access": "danger-full-access"}, "on-request", "danger-full-access"),
        ({"grant": "bypass"}, "never", "danger-full-access"),
    ],
)
def test_a_client_is_told_what_the_command_line_says(place, change, policy, access):
    command = Codex().command(place, run(client="decline", **change))
    assert command[2].endswith("codex_client.py")
    assert command[3:6] == ["decline", policy, access]


def test_the_sandbox_of_a_command_line(place):
    assert "read-only" in Codex().command(place, run())
    assert "danger-full-access" in Codex().command(place, run(access="danger-full-access"))


def test_trust_of_another_hook_or_switched_off(place):
    (of_this,) = settled(place)["hooks"]["state"].values()
    (stale,) = settled(place, trust="stale")["hooks"]["state"].values()
    (off,) = settled(place, trust="off")["hooks"]["state"].values()
    assert stale.keys() == of_this.keys()
    assert stale != of_this
    assert off == {**of_this, "enabled": False}


def test_what_a_client_was_asked():
    about = {"codex_approval_kind": "mcp_tool_call", "tool_name": "refunds", "tool_params": {"a": 1}}
    lines = [
        {"type": "asked", "params": {"serverName": "pay-1", "_meta": about}},
        {"type": "asked", "params": {"command": "ls"}},
        {"type": "error", "message": "no"},
    ]
    report = Codex().report("\n".join(json.dumps(line) for line in lines))
    assert report.asked == [Asked("mcp__pay_1__refunds", {"a": 1}), Asked('{"command": "ls"}', None)]
    assert len(report.notices) == 1

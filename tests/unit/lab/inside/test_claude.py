from __future__ import annotations

import json

import pytest

from anvil_lab.inside.claude import Claude
from anvil_lab.inside.place import Place, Seen, read_json
from anvil_lab.inside.records import Call, Run, ServedTool

PREFIX = "mcp__plugin_anvil-pay_api"


@pytest.fixture
def place(tmp_path):
    bundle = tmp_path / "bundle"
    (bundle / ".claude-plugin").mkdir(parents=True)
    (bundle / "plugin" / "claude").mkdir(parents=True)
    (bundle / ".claude-plugin" / "plugin.json").write_text('{"name": "anvil-pay"}')
    (bundle / "plugin" / "claude" / "mcp.json").write_text('{"mcpServers": {"api": {"command": "x"}}}')
    folders = [tmp_path / name for name in ("home", "project")]
    return Place(*folders, bundle, tmp_path / "scratch", "http://model", "http://api")


def run(**change):
    return Run(harness="claude", bundle="/bundle", **{"calls": [Call(tool="t")], **change})


def test_names(place):
    claude = Claude()
    assert claude.tool_name(place, Call(tool="refunds")) == f"{PREFIX}__refunds"
    assert claude.tool_name(place, Call(foreign="echo")) == "mcp__foreign__echo"
    assert claude.tool_name(place, Call(shell="true")) == "Bash"
    assert claude.arguments(Call(tool="t", args={"a": 1})) == {"a": 1}
    assert claude.arguments(Call(shell="true"))["command"] == "true"


@pytest.mark.parametrize(
    ("grant", "rules"), [("none", None), ("allow", [PREFIX, "mcp__foreign", "Bash"]), ("bypass", None)]
)
def test_a_grant_is_the_users_own_setting(place, grant, rules):
    claude = Claude()
    claude.settle(place, run(grant=grant))
    settings = read_json(place.home / ".claude" / "settings.json")
    assert settings.get("permissions", {}).get("allow") == rules
    mode = "bypassPermissions" if grant == "bypass" else "default"
    command = claude.command(place, run(grant=grant))
    assert command[command.index("--permission-mode") + 1] == mode


def test_a_call_of_an_agent_is_found_in_its_own_conversation():
    result = {"type": "tool_result", "tool_use_id": "toolu_0000", "content": "done"}
    agents = {"messages": [{"role": "user", "content": [result]}]}
    mains = {"messages": [{"role": "user", "content": "go"}]}
    assert Claude().seen([mains, agents, mains], "toolu_0000").text == "done"
    assert not Claude().seen([mains], "toolu_0000").answered


def test_hooks_are_switched_off_in_the_project(place):
    claude = Claude()
    path = place.project / ".claude" / "settings.json"
    claude.settle(place, run())
    assert read_json(path) == {}
    claude.settle(place, run(hooks=False))
    assert read_json(path) == {"disableAllHooks": True}


def test_command_line(place):
    claude = Claude()
    assert "-p" in claude.command(place, run())
    assert "--plugin-dir" not in claude.command(place, run())
    assert "--mcp-config" not in claude.command(place, run())
    attended = claude.command(place, run(person=["yes"], install="plugin-dir", calls=[Call(foreign="echo")]))
    assert "-p" not in attended
    assert attended[attended.index("--plugin-dir") + 1] == str(place.bundle)
    assert "--mcp-config" in attended


def test_nothing_of_the_surroundings_is_inherited(place, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    environment = Claude().environment(place)
    assert "SECRET" not in environment
    assert environment["ANTHROPIC_BASE_URL"] == "http://model"
    assert environment["ANVIL_BASE_URL"] == "http://api"


def test_a_replaced_server_keeps_the_name(place):
    Claude().replace_server(place, [ServedTool("invented")])
    servers = read_json(place.bundle / "plugin" / "claude" / "mcp.json")["mcpServers"]
    assert list(servers) == ["api"]
    assert "invented" in servers["api"]["args"][-1]


def test_installed_copies_are_found(place):
    copy = place.home / ".claude" / "plugins" / "cache" / "market" / "anvil-pay" / "1.0"
    (copy / ".claude-plugin").mkdir(parents=True)
    (copy / ".claude-plugin" / "plugin.json").touch()
    assert Claude().installed_at(place) == [place.bundle, copy]


def conversation(content, is_error=None):
    result = {"type": "tool_result", "tool_use_id": "toolu_0000", "content": content}
    result |= {} if is_error is None else {"is_error": is_error}
    return [
        {
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_0000"}]},
                {"role": "user", "content": [result, {"type": "text", "text": "a reminder of the program"}]},
                {"role": "system", "content": "PreToolUse:t hook additional context: careful"},
                {"role": "assistant", "content": "well"},
                {"role": "system", "content": "a hook's words about something else"},
            ]
        }
    ]


def test_what_the_model_was_told():
    claude = Claude()
    words = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    seen = claude.seen(conversation(words, is_error=True), "toolu_0000")
    assert seen == Seen(True, True, "a\nb", ["PreToolUse:t hook additional context: careful"])
    assert claude.seen(conversation("plain"), "toolu_0000").text == "plain"
    assert claude.seen(conversation("plain"), "toolu_0001") == Seen(False, False, "", [])
    assert claude.seen([], "toolu_0000").answered is False


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("PreToolUse:mcp__x__t hook error: confirm is missing", "hook"),
        ("Claude requested permissions to use t, but you haven't granted it yet.", "harness"),
        ("<tool_use_error>Error: No such tool available: t</tool_use_error>", "harness"),
        ("touch in '/project/x' needs approval.", "harness"),
        ("refunds_create was not sent: confirm is missing", "server"),
    ],
)
def test_who_refused(text, by):
    assert Claude().refused_by(Seen(True, True, text, [])) == by
    assert Claude().refused_by(Seen(True, False, text, [])) is None


def test_its_own_output():
    events = [
        {
            "subtype": "init",
            "claude_code_version": "2.1",
            "mcp_servers": [{"name": "s", "status": "connected"}],
        },
        {"subtype": "init", "plugin_errors": ["broken"]},
        {"subtype": "hook_response", "hook_event": "PreToolUse", "outcome": "error", "exit_code": 2},
        {"subtype": "informational", "content": "note"},
    ]
    report = Claude().report(
        "noise\n[1]\n" + "\n".join(json.dumps(event) for event in events[1:2] + events[:1])
    )
    assert (report.version, report.servers) == ("2.1", {"s": "connected"})
    assert report.notices == ["plugin error: broken"]
    report = Claude().report("\n".join(json.dumps(event) for event in events[2:]))
    assert report.notices == ["hook: error, exit 2", "note"]

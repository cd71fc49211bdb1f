"""The probe's own hook, server and plugin, without a harness: what they do is what the row says."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys

import pytest

from anvil_lab.contract import rows
from anvil_lab.inside import probe_claude, probe_hook, probe_server, probes
from anvil_lab.inside.probe_evidence import Evidence


@pytest.fixture
def plugin(tmp_path):
    shutil.copyfile(probe_hook.__file__, tmp_path / "hook.py")
    shutil.copyfile(probe_server.__file__, tmp_path / "server.py")
    return tmp_path


def run(plugin, script, name, given):
    command = [sys.executable, "-I", "-S", "-B", str(plugin / script), name]
    return subprocess.run(command, check=False, input=given, capture_output=True, text=True, timeout=20)


def row(**keys):
    probe = rows.Probe.model_validate({"id": "a.b", "says": "A", "observe": ["outcome"], **keys})
    return json.loads(rows.as_json([probe]))[0]


@pytest.mark.parametrize(
    ("act", "code", "stdout", "stderr"),
    [
        ({}, 0, "", ""),
        ({"prints": {"a": 1}, "exit": 1}, 1, '{"a":1}', ""),
        ({"prints": "words", "stderr": "THE-STDERR", "exit": 2}, 2, "words", "THE-STDERR"),
        ({"prints": "first", "signal": 9}, -signal.SIGKILL, "first", ""),
    ],
)
def test_the_hook_does_what_its_act_says_and_logs(plugin, act, code, stdout, stderr):
    (plugin / "acts.json").write_text(json.dumps({"guard": act, "other": {"exit": 7}}))
    done = run(plugin, "hook.py", "guard", '{"tool_name": "x"}')
    assert (done.returncode, done.stdout, done.stderr) == (code, stdout, stderr)
    logged = json.loads((plugin / probe_hook.LOG).read_text())
    assert (logged["name"], logged["stdin"]) == ("guard", {"tool_name": "x"})
    assert "PATH" in logged["env"] or logged["env"] == {}


def talk(plugin, serves, *messages):
    (plugin / "serves.json").write_text(json.dumps({"tools": [{"name": "write"}], **serves}))
    done = run(plugin, "server.py", "api", "".join(json.dumps(message) + "\n" for message in messages))
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


CALL = {"id": 2, "method": "tools/call", "params": {"name": "write", "arguments": {"a": 1}}}


def test_the_server_lists_and_answers(plugin):
    opening = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    silent = {"method": "notifications/initialized"}
    discover = {"id": 9, "method": "server/discover"}
    first, refused, listed, called = talk(
        plugin, {}, opening, silent, discover, {"id": 1, "method": "tools/list"}, CALL
    )
    assert first["result"]["protocolVersion"] == "2025-11-25"
    assert refused["error"]["code"] == -32601
    assert listed["result"]["tools"] == [{"name": "write"}]
    assert called["result"]["content"][0]["text"] == 'write ran with {"a": 1}'
    assert "supportedVersions" in talk(plugin, {"discover": True}, discover)[0]["result"]


def test_a_call_waits_for_the_persons_answer(plugin):
    asked = talk(plugin, {"elicit": {"message": "Really?"}}, CALL)
    assert [message["method"] for message in asked] == ["elicitation/create"]
    answer = {"id": asked[0]["id"], "result": {"action": "cancel"}}
    assert [message["id"] for message in talk(plugin, {"elicit": {"message": "?"}}, CALL, answer)] == [
        answer["id"],
        2,
    ]


def test_the_plugin_is_what_the_row_says(tmp_path):
    made = row(
        hooks=[
            {"matcher": "^{prefix}", "does": {"exit": 1}, "handler": {"onFailure": "block", "timeout": 1}}
        ],
        manifest={"skills": ["./skill"], "version": None},
        files={"skill/SKILL.md": "words"},
        rule="ask",
    )
    scene = probe_claude.Scene(made, tmp_path / "run")
    scene.set_up()
    hooks = json.loads((scene.plugin / probe_claude.HOOKS).read_text())["hooks"]["PreToolUse"]
    assert hooks[0]["matcher"] == "^mcp__plugin_anvil-probe_api__"
    assert hooks[0]["hooks"][0]["onFailure"] == "block"
    assert hooks[0]["hooks"][0]["timeout"] == 1
    manifest = json.loads((scene.plugin / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["skills"] == ["./skill"]
    assert "version" not in manifest
    assert (scene.plugin / "skill" / "SKILL.md").read_text() == "words"
    settings = json.loads((scene.home / ".claude" / "settings.json").read_text())
    assert settings == {"permissions": {"ask": ["mcp__plugin_anvil-probe_api__write"]}}


def test_a_row_that_fails_is_tried_once_more(tmp_path, monkeypatch):
    tried = [Evidence(error="first"), Evidence(answered=True, is_error=True, version="1")]
    monkeypatch.setitem(probes.ACTORS, "claude", lambda _row, _root: tried.pop(0))
    line = probes.observe("claude", row(), tmp_path)
    assert (line["facts"], line["version"], tried) == ({"outcome": "blocked"}, "1", [])
    tried += [Evidence(error="first"), Evidence(error="second"), Evidence()]
    assert probes.observe("claude", row(), tmp_path)["facts"] == {"error": "second"}
    assert len(tried) == 1


def test_an_actor_that_breaks_is_an_error_of_its_row(tmp_path, monkeypatch):
    def breaks(_row, _root):
        raise OSError("no room")

    monkeypatch.setitem(probes.ACTORS, "claude", breaks)
    assert probes.observe("claude", row(), tmp_path)["facts"] == {"error": "OSError: no room"}

"""Codex's probe without Codex: plugin and configuration are what the row says, and the command is ours."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tomllib

from anvil_lab.contract import rows
from anvil_lab.inside import probe_codex, probe_hook, probe_scene, probes
from anvil_lab.inside.codex import trust_entries
from anvil_lab.inside.probe_evidence import FACETS
from anvil_lab.inside.scripted_responses import Model

ROOT = Path(__file__).parents[4]
EMITTED = ROOT / "tests" / "golden" / "payments" / "plugin" / "codex" / "hooks.json"


@pytest.fixture
def acted(tmp_path):
    """The folders of a row, and the user's configuration as the program will read it."""

    def act(**keys):
        probe = rows.Probe.model_validate({"id": "a.b", "says": "A", "observe": ["outcome"], **keys})
        scene = probe_codex.Scene(json.loads(rows.as_json([probe]))[0], tmp_path / "run")
        scene.set_up("http://model")
        text = (scene.home / ".codex" / "config.toml").read_text(encoding="utf-8")
        return scene, tomllib.loads(text)

    return act


def test_the_plugin_is_what_the_row_says(acted):
    scene, settings = acted(
        server="my-api",
        hooks=[{"does": {"exit": 1}, "handler": {"timeout": None}}, {"matcher": "{tool}", "name": "second"}],
        manifest={"hooks": "./other.json", "version": None},
        files={"plugin/more.txt": "{plugin} {identity}"},
    )
    groups = json.loads((scene.plugin / probe_codex.HOOKS).read_text())["hooks"]["PreToolUse"]
    assert [group["matcher"] for group in groups] == [
        "^mcp__my_api(_[0-9a-f]{12})?__",
        "mcp__my_api__write",
    ]
    assert "timeout" not in groups[0]["hooks"][0]
    assert groups[1]["hooks"][0]["timeout"] == 10
    manifest = json.loads((scene.plugin / probe_codex.MANIFEST).read_text())
    assert (manifest["hooks"], manifest.get("version")) == ("./other.json", None)
    assert (scene.plugin / "plugin" / "more.txt").read_text() == f"{scene.plugin} anvil-probe@probes"
    assert settings["model_providers"]["scripted"]["base_url"] == "http://model/v1"
    assert "plugins" not in settings


def test_what_the_user_set_is_in_the_configuration(acted):
    scene, settings = acted(
        approval="prompt",
        user_servers=["api"],
        user_settings={'plugins."{identity}".enabled': False},
        project_settings={"features.hooks": False},
    )
    plugin = settings["plugins"]["anvil-probe@probes"]
    assert plugin == {
        "enabled": False,
        "mcp_servers": {"api": {"default_tools_approval_mode": "prompt"}},
    }
    assert settings["mcp_servers"]["api"]["args"][-1] == "user-api"
    project = tomllib.loads((scene.project / ".codex" / "config.toml").read_text())
    assert project == {"features": {"hooks": False}}


@pytest.mark.parametrize("trust", ["bypass", "entry", "stale", "changed", "none"])
def test_trust_is_a_mark_a_flag_or_nothing(acted, trust):
    scene, settings = acted(trust=trust, hooks=[{}])
    ((key, mark),) = trust_entries(scene.identity, scene.plugin)
    marks = settings.get("hooks", {}).get("state", {})
    wanted = {"entry": mark, "changed": mark, "stale": "sha256:" + "0" * 64}
    assert marks == ({key: {"trusted_hash": wanted[trust]}} if trust in wanted else {})
    assert (probe_codex.BYPASS in scene.command()) is (trust == "bypass")


@pytest.mark.parametrize("mode", probe_codex.MODES)
def test_a_mode_is_a_flag(acted, mode):
    command = acted(mode=mode)[0].command()
    assert [flag for flag in command if flag in probe_codex.MODES[mode]] == probe_codex.MODES[mode]


def test_the_wrapped_rows_have_the_command_that_we_emit():
    emitted = json.loads(EMITTED.read_text(encoding="utf-8"))
    ((group,),) = emitted["hooks"].values()
    script = r'"\$PLUGIN_ROOT/plugin/codex/hook\.py"'
    command = re.sub(f"{script} codex[^)]*", '"{plugin}/hook.py" codex', group["hooks"][0]["command"])
    command = re.sub(script, '"{plugin}/hook.py"', command)
    wrapped = [probe for probe in rows.load("codex") if probe.id.startswith("wrapped.")]
    found = {hook.handler["command"] for probe in wrapped for hook in probe.hooks}
    assert found == {command, command.replace("python3 -I", "/nowhere/python3 -I")}
    assert {hook.name for probe in wrapped for hook in probe.hooks} == {"codex"}


def seen(acted, items, **keys):
    """The evidence of a run after which the model was told these items."""
    scene, _ = acted(**keys)
    with Model() as model:
        model.requests = [{"tools": [{"type": "function", "name": "x"}], "input": items}]
        ended = {"stdout": "", "stderr": "", "exit": 0}
        return scene, lambda: probe_codex._evidence(scene, {}, model, ended, "call_0000")


CALL = [
    {"type": "function_call", "call_id": "call_0000", "name": "write", "arguments": "{}"},
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "THE-CONTEXT"}]},
    {"type": "function_call_output", "call_id": "call_0000", "output": "Wall time: 1\nOutput:\nTHE-REASON"},
]


def test_a_call_that_no_server_got_is_blocked_whatever_was_said(acted):
    scene, evidence = seen(acted, CALL)
    assert FACETS["outcome"](evidence()) == "blocked"
    assert FACETS["reaches"](evidence()) == ["THE-CONTEXT", "THE-REASON"]
    params = {"name": "write", "_meta": {"callId": "call_0000"}}
    got = {"name": "api", "kind": "got", "value": {"id": 1, "method": "tools/call", "params": params}}
    (scene.plugin / "server.log").write_text(json.dumps(got) + "\n")
    assert FACETS["outcome"](evidence()) == "ran"
    fired = [
        {"name": "guard", "env": {}, "stdin": {"tool_use_id": use}} for use in ("look_0001", "call_0000")
    ]
    (scene.plugin / probe_hook.LOG).write_text("".join(json.dumps(line) + "\n" for line in fired))
    assert FACETS["fired"](evidence()) == ["guard"]  # a look at the tools is not the call
    assert FACETS["joined"](evidence()) is True


def test_logs_of_the_installed_copy_count_too(acted):
    scene, _ = acted()
    copy = scene.home / ".codex" / "plugins" / "cache" / "probes" / "anvil-probe" / "1.0.0"
    copy.mkdir(parents=True)
    (copy / "server.log").write_text('{"a": 1}\n')
    assert scene.log("server.log") == [{"a": 1}]
    assert scene.paths()[str(copy)] == "<copy>"


def test_a_plugin_that_cannot_be_installed_is_an_error_of_the_row(tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    program = '#!/bin/sh\ncase "$1" in --version) echo codex-cli 1.2.3;; *) echo no plugin; exit 1;; esac\n'
    (programs / "codex").write_text(program)
    (programs / "codex").chmod(0o755)
    monkeypatch.setattr(probe_scene, "PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    probe = rows.Probe.model_validate({"id": "a.b", "says": "A", "observe": ["outcome"]})
    line = probes.observe("codex", json.loads(rows.as_json([probe]))[0], tmp_path / "rows")
    assert "no plugin" in line["facts"]["error"]
    assert line["version"] == "1.2.3"

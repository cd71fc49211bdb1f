"""Our marks of trust are those that the real Codex computes, for hooks of user, repository and plugin."""

from __future__ import annotations

import json
import subprocess

import pytest
from support import homes, real_programs

from anvil_shims.codex import appserver, install, plugin_files, trust
from anvil_shims.installing import bundle_files

pytestmark = pytest.mark.timeout(120)

HANDLERS = [
    {"type": "command", "command": "true"},
    {"type": "command", "command": "guard \"$X\" 'ü' \\ / <&>", "timeout": 0},
    {"type": "command", "command": "guard", "timeout": 7, "statusMessage": "Looking …"},
    {"type": "command", "command": "guard", "additionalContextLimit": 2500},
    {"type": "command", "command": "guard", "additionalContextLimit": 99, "async": True},
]
EVENTS = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd", "PermissionRequest"]
HOOKS = {
    "hooks": {
        event: [{"hooks": HANDLERS}, {"matcher": "^mcp__pets(_[0-9a-f]{12})?__", "hooks": HANDLERS}]
        for event in EVENTS
    }
}


@pytest.fixture
def home(tmp_path):
    return homes.make_home("symlink", "codex", tmp_path, real_programs.program("codex"))


def listed(home) -> dict[str, str]:
    with appserver.connect(home.where.cli, home.where) as peer:
        return {hook["key"]: hook["currentHash"] for hook in appserver.hooks(peer, home.where.cwd)}


def test_hooks_of_the_user(home):
    file = home.path / ".codex" / "hooks.json"
    file.write_text(json.dumps(HOOKS), encoding="utf-8")
    ours = {one.key: one.digest for one in trust.definitions(str(file.resolve()), HOOKS)}
    assert len(ours) == len(EVENTS) * len(HANDLERS) * 2
    assert listed(home) == ours


def test_hooks_of_a_repository(home):
    project = home.where.cwd
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    homes.write(project, {".codex/hooks.json": HOOKS})
    with home.config.open("a", encoding="utf-8") as config:
        config.write(f'[projects."{project.resolve()}"]\ntrust_level = "trusted"\n')
    source = str((project / ".codex" / "hooks.json").resolve())
    assert listed(home) == {one.key: one.digest for one in trust.definitions(source, HOOKS)}


def test_hooks_of_a_plugin(home, tmp_path):
    """Codex adds a mark over all files of the plugin, which only Codex can compute."""
    bundle = bundle_files.open_bundle(homes.make_bundle(tmp_path / "bundle"), "codex")
    assert not install.install(bundle, home.where, lambda _: False).guarded
    ours = {one.key: one.digest for one in plugin_files.read(bundle).hooks}
    assert {key: mark.partition("/")[0] for key, mark in listed(home).items()} == ours


def test_the_formula_can_be_wrong(home):
    """The comparison sees a difference: another timeout is another mark."""
    file = home.path / ".codex" / "hooks.json"
    file.write_text(json.dumps(homes.hooks("*", "true")), encoding="utf-8")
    other = homes.hooks("*", "true", timeout=11)
    assert set(listed(home)) == {one.key for one in trust.definitions(str(file.resolve()), other)}
    assert listed(home) != {one.key: one.digest for one in trust.definitions(str(file.resolve()), other)}

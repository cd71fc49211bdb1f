"""Each thing that silences the hook or shadows the server in Claude Code is told apart, and from health."""

from __future__ import annotations

import json

import pytest
from support import fake_programs, homes

from anvil_shims.claude import doctor, install
from anvil_shims.installing import bundle_files
from anvil_shims.installing.actions import Verified

VERIFIED = Verified("2.1.295", "2.1.332")
TAKEN = "plugin_anvil-pets_api"


@pytest.fixture
def bundle(tmp_path):
    return homes.make_bundle(tmp_path / "bundle")


@pytest.fixture
def home(tmp_path, bundle):
    made = homes.make_home("bom", "claude", tmp_path, fake_programs.make("claude", tmp_path / "bin"))
    install.install(bundle_files.open_bundle(bundle, "claude"), made.where, lambda _: True)
    return made


def failed(home, bundle) -> dict[str, str]:
    opened = bundle_files.open_bundle(bundle, "claude")
    found = list(doctor.checks(opened, home.where, VERIFIED))
    assert len({check.id for check in found}) == len(found)
    assert all(check.next for check in found if not check.ok)
    return {check.id: check.state for check in found if not check.ok}


def test_all_is_good_after_an_install(home, bundle):
    assert failed(home, bundle) == {}


@pytest.mark.parametrize(("said", "state"), [("2.1.294", "older"), ("2.2.0 (Claude Code)", "newer")])
def test_a_version_that_was_not_tried(said, state, home, bundle, tmp_path):
    fake_programs.make("claude", tmp_path / "bin", said)
    assert failed(home, bundle) == {"version": state}


@pytest.mark.parametrize("place", ["settings.json", "settings.local.json"])
def test_hooks_are_off_in_the_project(place, home, bundle):
    homes.write(home.where.cwd, {f".claude/{place}": {"disableAllHooks": True}})
    assert failed(home, bundle) == {"hooks-setting": "off"}


def test_hooks_are_off_for_the_user(home, bundle):
    data = json.loads(home.text().decode("utf-8-sig"))
    home.config.write_text(json.dumps({**data, "disableAllHooks": True}))
    assert failed(home, bundle) == {"hooks-setting": "off"}


@pytest.mark.parametrize("place", ["managed-settings.json", "managed-settings.d/10-site.json"])
def test_managed_hooks_only(place, home, bundle):
    homes.write(home.where.etc, {f"claude-code/{place}": {"allowManagedHooksOnly": True}})
    assert failed(home, bundle) == {"managed-hooks-only": "on"}


def test_the_plugin_is_off_in_the_project(home, bundle):
    homes.write(
        home.where.cwd, {".claude/settings.json": {"enabledPlugins": {"anvil-pets@anvil-pets": False}}}
    )
    assert failed(home, bundle) == {"plugin-enabled": "off"}


def test_not_installed(home, bundle):
    install.uninstall(home.records()[0], home.where)
    assert failed(home, bundle) == {"plugin-installed": "absent", "plugin-enabled": "absent"}


def test_read_from_another_folder(home, bundle, tmp_path):
    other = homes.make_bundle(tmp_path / "other")
    assert failed(home, other) == {"plugin-folder": ""}


@pytest.mark.parametrize(
    ("name", "check"),
    [(TAKEN, "shadowing-server"), ("plugin.anvil-pets.api", "colliding-names"), ("notes", None)],
)
@pytest.mark.parametrize("place", ["user", "this project", "the project's file"])
def test_another_server(place, name, check, home, bundle):
    servers = {"mcpServers": {name: {"command": "x"}}}
    if place == "user":
        homes.write(home.path, {".claude.json": servers})
    elif place == "this project":
        homes.write(home.path, {".claude.json": {"projects": {str(home.where.cwd): servers}}})
    else:
        homes.write(home.where.cwd, {".mcp.json": servers})
    assert list(failed(home, bundle)) == ([check] if check else [])


def test_a_changed_bundle(home, bundle):
    (bundle / "skill" / "SKILL.md").unlink()
    assert failed(home, bundle) == {"bundle-files": "changed"}

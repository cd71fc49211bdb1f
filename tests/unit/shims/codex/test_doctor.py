"""Each thing that silences the hook or shadows the server in Codex is told apart, and from health."""

from __future__ import annotations

import json

import pytest
from support import fake_programs, homes

from anvil_shims.codex import doctor, install
from anvil_shims.installing import bundle_files
from anvil_shims.installing.actions import Verified

VERIFIED = Verified("0.171.0", "0.171.0")


@pytest.fixture
def bundle(tmp_path):
    return homes.make_bundle(tmp_path / "bundle")


@pytest.fixture
def home(tmp_path, bundle):
    made = homes.make_home("comments", "codex", tmp_path, fake_programs.make("codex", tmp_path / "bin"))
    install.install(bundle_files.open_bundle(bundle, "codex"), made.where, lambda _: True)
    return made


def failed(home, bundle) -> dict[str, str]:
    """{check: state} of what is not good."""
    opened = bundle_files.open_bundle(bundle, "codex")
    found = list(doctor.checks(opened, home.where, VERIFIED))
    assert len({check.id for check in found}) == len(found)
    assert all(check.next for check in found if not check.ok)
    return {check.id: check.state for check in found if not check.ok}


def change(home, old: str, new: str) -> None:
    text = home.text().decode()
    assert old in text
    home.config.write_text(text.replace(old, new, 1))


def test_all_is_good_after_an_install(home, bundle):
    assert failed(home, bundle) == {}


def test_no_program(home, bundle, tmp_path):
    (tmp_path / "bin" / "codex").unlink()
    assert "cli" in failed(home, bundle)


@pytest.mark.parametrize(("said", "state"), [("codex-cli 0.142.5", "older"), ("codex-cli 0.172.0", "newer")])
def test_a_version_that_was_not_tried(said, state, home, bundle, tmp_path):
    fake_programs.make("codex", tmp_path / "bin", said)
    assert failed(home, bundle) == {"version": state}


def test_untrusted(home, bundle):
    change(home, "trusted_hash", "other")
    change(home, "trusted_content_hash", "another")
    assert failed(home, bundle) == {"hook-trusted": "untrusted"}


def test_modified(home, bundle):
    change(home, 'trusted_content_hash = "sha256:', 'trusted_content_hash = "sha256:0')
    assert failed(home, bundle) == {"hook-trusted": "modified"}


def test_disabled(home, bundle):
    change(home, "trusted_hash", "enabled = false\ntrusted_hash")
    assert failed(home, bundle) == {"hook-enabled": "disabled"}


@pytest.mark.parametrize("place", ["user", "project", "root of the project", "system", "administrator"])
def test_the_feature_is_off(place, home, bundle):
    (home.where.cwd.parent / ".git").mkdir()
    etc = home.where.etc / "codex"
    files = {
        "user": home.config,
        "project": home.where.cwd / ".codex" / "config.toml",
        "root of the project": home.where.cwd.parent / ".codex" / "config.toml",
        "system": etc / "config.toml",
        "administrator": etc / "managed_config.toml",
    }
    if place == "user":
        change(home, "hooks = true", "hooks = false")
    else:
        homes.write(files[place].parent, {files[place].name: "[features]\nhooks = false\n"})
    opened = bundle_files.open_bundle(bundle, "codex")
    found = {check.id: check for check in doctor.checks(opened, home.where, VERIFIED)}
    assert found["hooks-feature"].state == "off"
    assert str(files[place]) in found["hooks-feature"].found


def test_a_folder_above_the_project_says_nothing(home, bundle):
    (home.where.cwd / ".git").mkdir()
    homes.write(home.where.cwd.parent, {".codex/config.toml": "[features]\nhooks = false\n"})
    assert failed(home, bundle) == {}


def test_managed_hooks_only(home, bundle):
    homes.write(home.where.etc, {"codex/requirements.toml": "allow_managed_hooks_only = true\n"})
    assert failed(home, bundle) == {"managed-hooks-only": "on"}


def test_a_manifest_at_the_root(home, bundle):
    homes.write(bundle, {"plugin.json": {}})
    assert failed(home, bundle) == {"bundle-files": "changed", "root-manifest": "present"}


def test_a_changed_installed_file(home, bundle):
    (copied,) = home.path.glob(".codex/plugins/cache/*/*/*/catalog.json")
    copied.write_text("{}")
    assert failed(home, bundle) == {"installed-copy": "", "hook-trusted": "modified"}


@pytest.mark.parametrize("place", ["user", "project"])
def test_the_plugin_is_off(place, home, bundle):
    if place == "user":
        change(home, "enabled = true", "enabled = false")
    else:
        text = '[plugins."anvil-pets@anvil-pets"]\nenabled = false\n'
        homes.write(home.where.cwd, {".codex/config.toml": text})
    assert failed(home, bundle)["plugin-enabled"] == "off"


def test_not_installed(home, bundle):
    install.uninstall(home.records()[0], home.where)
    assert failed(home, bundle)["plugin-installed"] == "absent"


def test_another_version_is_installed(home, bundle):
    homes.make_bundle(bundle, revision=2)
    assert failed(home, bundle)["plugin-installed"] == "other-version"


@pytest.mark.parametrize(("name", "check"), [("pets", "shadowing-server"), ("p.ets", None)])
def test_a_server_of_the_user_s_own(name, check, home, bundle):
    with home.config.open("a") as file:
        file.write(f'\n[mcp_servers."{name}"]\ncommand = "x"\n')
    assert list(failed(home, bundle)) == ([check] if check else [])


def test_a_server_that_makes_codex_rename_our_tools(home, tmp_path):
    bundle = homes.make_bundle(tmp_path / "bundle")
    servers = {
        "mcpServers": {"pet-shop": {"command": "python3", "args": ["-I", "mcp/server.py"], "cwd": "."}}
    }
    homes.write(bundle, {"plugin/codex/mcp.json": servers})
    with home.config.open("a") as file:
        file.write('\n[mcp_servers.pet_shop]\ncommand = "x"\n')
    assert "colliding-names" in failed(home, bundle)


def test_another_plugin_has_a_server_of_our_name(home, bundle):
    with home.config.open("a") as file:
        file.write('\n[plugins."other@team"]\nenabled = true\n')
    folder = home.path / ".codex/plugins/cache/team/other/1.0.0"
    homes.write(
        folder, {".codex-plugin/plugin.json": {"name": "other", "mcpServers": {"pets": {"command": "x"}}}}
    )
    assert "shadowing-server" in failed(home, bundle)


def test_no_interpreter(home, bundle):
    home.where.environ["PATH"] = str(home.where.cwd)
    assert {"python-hook", "python-server", "server-starts"} <= failed(home, bundle).keys()


def test_the_server_lists_something_else(home, bundle):
    catalog = json.loads((bundle / "catalog.json").read_text())
    catalog["operations"][0]["state"] = "blocked"
    homes.write(bundle, {"catalog.json": catalog})
    assert failed(home, bundle).keys() == {"bundle-files", "server-tools"}


def test_a_broken_configuration(home, bundle):
    home.config.write_bytes(b"a =\n")
    opened = bundle_files.open_bundle(bundle, "codex")
    found = {check.id: check for check in doctor.checks(opened, home.where, VERIFIED)}
    assert "line 1" in found["config"].found

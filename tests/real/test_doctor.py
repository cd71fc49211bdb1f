"""What the real programs say when something is wrong, read by the doctor."""

from __future__ import annotations

import pytest
from support import homes, real_programs

from anvil_shims.claude import doctor as claude_doctor
from anvil_shims.claude import install as claude_install
from anvil_shims.codex import doctor, install
from anvil_shims.installing import bundle_files
from anvil_shims.installing.actions import Verified

pytestmark = pytest.mark.timeout(120)
VERIFIED = Verified("0.171.0", "0.171.0")
OFF = "[features]\nhooks = false\n"


@pytest.fixture
def bundle(tmp_path):
    return bundle_files.open_bundle(homes.make_bundle(tmp_path / "bundle"), "codex")


@pytest.fixture
def home(tmp_path):
    return homes.make_home("symlink", "codex", tmp_path, real_programs.program("codex"))


def failed(home, bundle) -> dict[str, str]:
    found = doctor.checks(bundle, home.where, VERIFIED)
    return {check.id: check.state for check in found if not check.ok}


def change(home, old: str, new: str) -> None:
    text = home.text().decode()
    assert old in text
    home.config.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_untrusted_then_trusted_then_modified(home, bundle):
    install.install(bundle, home.where, lambda _: False)
    assert failed(home, bundle) == {"hook-trusted": "untrusted"}
    install.install(bundle, home.where, lambda _: True)
    assert failed(home, bundle) == {}
    (home.path / ".codex/plugins/cache/anvil-pets/anvil-pets/1.2.1/added").mkdir()
    assert failed(home, bundle) == {"hook-trusted": "modified"}


def test_disabled(home, bundle):
    install.install(bundle, home.where, lambda _: True)
    change(home, "trusted_hash", "enabled = false\ntrusted_hash")
    assert failed(home, bundle) == {"hook-enabled": "disabled"}


def test_the_feature_is_off(home, bundle):
    install.install(bundle, home.where, lambda _: True)
    with home.config.open("a", encoding="utf-8") as file:
        file.write("\n\n" + OFF)
    assert failed(home, bundle)["hooks-feature"] == "off"


def test_a_manifest_at_the_root_silences_the_hook(home, bundle):
    schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    manifest = {"$schema": schema, "name": "anvil-pets", "version": "1.2.1", "description": "Pets"}
    homes.write(bundle.root, {"plugin.json": manifest})
    facts = {**bundle.facts, "files": {**bundle.facts["files"]}}
    facts["files"]["plugin.json"] = homes.digest(bundle.root / "plugin.json")
    homes.write(bundle.root, {"bundle.json": facts})
    opened = bundle_files.open_bundle(bundle.root, "codex")
    with pytest.raises(install.ActionError, match="lists no hook"):
        install.install(opened, home.where, lambda _: True)
    assert failed(home, opened).keys() == {"root-manifest", "hook-listed"}


def test_claude_code(tmp_path):
    home = homes.make_home("crlf", "claude", tmp_path, real_programs.program("claude"))
    bundle = bundle_files.open_bundle(homes.make_bundle(tmp_path / "bundle"), "claude")

    def wrong() -> dict[str, str]:
        found = claude_doctor.checks(bundle, home.where, Verified("2.1.295", "2.1.332"))
        return {check.id: check.state for check in found if not check.ok}

    assert wrong() == {"plugin-installed": "absent", "plugin-enabled": "absent"}
    claude_install.install(bundle, home.where, lambda _: False)
    assert wrong() == {}
    homes.write(home.where.cwd, {".claude/settings.json": {"disableAllHooks": True}})
    assert wrong() == {"hooks-setting": "off"}

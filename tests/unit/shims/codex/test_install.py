"""Installing into Codex: what is asked, what is written, what is refused. The program is a stand-in."""

from __future__ import annotations

import pytest
from support import fake_programs, homes

from anvil_shims.codex import install
from anvil_shims.installing import bundle_files, records
from anvil_shims.installing.actions import ActionError


@pytest.fixture
def bundle(tmp_path):
    return homes.make_bundle(tmp_path / "bundle")


@pytest.fixture
def home(tmp_path):
    """A function: a copy of a committed home."""

    def make(name: str = "comments") -> homes.Home:
        return homes.make_home(name, "codex", tmp_path, fake_programs.make("codex", tmp_path / "bin"))

    return make


def run(home, bundle, answer=True):
    return install.install(bundle_files.open_bundle(bundle, "codex"), home.where, lambda _: answer)


@pytest.mark.parametrize("name", homes.NAMES)
def test_only_our_entries_come_and_go(name, home, bundle):
    homes.live(home(name), bundle, install)


def test_without_a_yes_no_trust_is_written(home, bundle):
    one = home()
    outcome = run(one, bundle, answer=False)
    assert not outcome.guarded
    assert "trusted_hash" not in one.text().decode()
    assert run(one, bundle).guarded


def test_what_is_asked_shows_the_whole_definition(home, bundle):
    asked = []
    opened = bundle_files.open_bundle(bundle, "codex")
    install.install(opened, home().where, lambda text: asked.append(text) or False)
    (group,) = opened.json("plugin/codex/hooks.json")["hooks"]["PreToolUse"]
    assert group["matcher"] in asked[0]
    assert group["hooks"][0]["command"] in asked[0]
    assert "plugin/codex/hooks.json" in asked[0]


def test_a_definition_that_codex_lists_otherwise_is_not_trusted(home, bundle, monkeypatch):
    one, listed = home(), install.appserver.hooks
    other = {"currentHash": "sha256:0/sha256:0"}
    monkeypatch.setattr(install.appserver, "hooks", lambda *at: [{**hook, **other} for hook in listed(*at)])
    with pytest.raises(ActionError, match="other hooks than the bundle"):
        run(one, bundle)
    assert "trusted_hash" not in one.text().decode()


def test_a_hook_that_the_user_switched_off_stays_off(home, bundle):
    one = home()
    run(one, bundle)
    one.config.write_text(one.text().decode().replace("trusted_hash", "enabled = false\ntrusted_hash", 1))
    outcome = run(one, bundle)
    assert not outcome.guarded
    assert "enabled = false" in one.text().decode()


@pytest.mark.parametrize("broken", [b"a = 1\nb = \n", b'a = "\xff"\n', b"[a]\n[a]\n"])
def test_a_broken_configuration_is_left_as_it_is(broken, home, bundle):
    one = home()
    one.config.write_bytes(broken)
    with pytest.raises(ActionError) as refused:
        run(one, bundle)
    assert refused.value.file == str(one.config)
    assert refused.value.line in (1, 2)
    assert one.text() == broken
    assert one.records() == []


def test_what_the_user_writes_later_stays(home, bundle):
    one = home()
    before = one.text()
    run(one, bundle)
    with one.config.open("ab") as file:
        file.write(b"\n# mine\n[tui]\nanimations = false\n")
    (record,) = one.records()
    install.uninstall(record, one.where)
    assert one.text() == before + b"\n# mine\n[tui]\nanimations = false\n"


def test_a_command_that_fails_half_way_leaves_the_bytes_too(home, bundle, monkeypatch):
    one, output = home("crlf"), install.programs.output
    before = one.text()

    def fail(command, *where):
        if "add" in command and "marketplace" not in command:
            raise ActionError("command_failed", "full disk", "codex")
        return output(command, *where)

    monkeypatch.setattr(install.programs, "output", fail)
    with pytest.raises(ActionError, match="full disk"):
        run(one, bundle)
    assert one.text().startswith(before)
    assert b"marketplaces.anvil-pets" in one.text()
    install.uninstall(one.records()[0], one.where)
    assert one.text() == before


@pytest.mark.parametrize("text", [None, b"", b"\n", b"# mine\n", b"\xef\xbb\xbf"])
def test_a_configuration_that_says_nothing(text, home, bundle):
    """Comments written in the meantime stay, too."""
    one = home("crlf")
    one.config.unlink()
    if text is not None:
        one.config.write_bytes(text)
    run(one, bundle)
    (record,) = one.records()
    if text == b"# mine\n":
        with one.config.open("ab") as file:
            file.write(b"# later\n")
        text += b"# later\n"
    install.uninstall(record, one.where)
    assert (one.text() if one.config.exists() else None) == text


def test_a_home_without_a_configuration_has_none_afterwards(home, bundle):
    one = home()
    one.config.unlink()
    run(one, bundle)
    install.uninstall(one.records()[0], one.where)
    assert not one.config.exists()


def test_a_plugin_that_was_there_stays_as_it_was(home, bundle):
    """Installed by hand, and switched off: the uninstall takes back what the install did."""
    one = home()
    text = f'\n[marketplaces.anvil-pets]\nsource_type = "local"\nsource = "{bundle}"\n'
    text += '\n[plugins."anvil-pets@anvil-pets"]\nenabled = false\n'
    with one.config.open("a", encoding="utf-8") as file:
        file.write(text)
    before = one.text()
    run(one, bundle)
    assert b"enabled = true" in one.text()
    outcome = install.uninstall(one.records()[0], one.where)
    assert "was there before" in outcome.warnings[0]
    assert one.text() == before


def test_another_marketplace_of_that_name_is_not_taken_over(home, bundle, tmp_path):
    one = home()
    with one.config.open("a", encoding="utf-8") as file:
        file.write(f'\n[marketplaces.anvil-pets]\nsource_type = "local"\nsource = "{tmp_path}"\n')
    before = one.text()
    with pytest.raises(ActionError, match="not by anvil"):
        run(one, bundle)
    assert (one.text(), one.records()) == (before, [])


def test_a_bundle_that_moved_is_followed(home, bundle, tmp_path):
    one = home()
    before = one.text()
    run(one, bundle)
    bundle.rename(tmp_path / "moved")
    run(one, tmp_path / "moved")
    assert str(tmp_path / "moved").encode() in one.text()
    install.uninstall(one.records()[0], one.where)
    assert one.text() == before


def test_a_spelling_that_cannot_be_kept_is_said(home, bundle):
    one = home()
    one.config.write_bytes(b"plugins = { }\n# inline\n")
    assert "could not be kept" in run(one, bundle).warnings[0]


def test_a_changed_copy_is_refused(home, bundle):
    one = home()
    (bundle / "added.txt").write_text("x")
    with pytest.raises(ActionError, match="not what the bundle holds"):
        run(one, bundle)


def test_records_in_a_folder_that_is_a_link_are_refused(home, bundle, tmp_path):
    one = home()
    folder = records.folder(one.where)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path)
    before = one.text()
    with pytest.raises(ActionError, match="symlink"):
        run(one, bundle)
    assert one.text() == before

"""Installing into Claude Code: what is written and what is refused. The program is a stand-in."""

from __future__ import annotations

import json

import pytest
from support import fake_programs, homes

from anvil_shims.claude import install
from anvil_shims.installing import bundle_files
from anvil_shims.installing.actions import ActionError


@pytest.fixture
def bundle(tmp_path):
    return homes.make_bundle(tmp_path / "bundle")


@pytest.fixture
def home(tmp_path):
    """A function: a copy of a committed home."""

    def make(name: str = "comments") -> homes.Home:
        return homes.make_home(name, "claude", tmp_path, fake_programs.make("claude", tmp_path / "bin"))

    return make


def run(home, bundle):
    return install.install(bundle_files.open_bundle(bundle, "claude"), home.where, lambda _: False)


@pytest.mark.parametrize("name", homes.NAMES)
def test_only_our_entries_come_and_go(name, home, bundle):
    homes.live(home(name), bundle, install)


@pytest.mark.parametrize(
    "text", [b"{}", b"{ }\n", b'{"enabledPlugins":{}}', b'{\n "enabledPlugins": {\n }\n}\n']
)
def test_settings_that_say_nothing_are_restored_to_the_byte(text, home, bundle):
    one = home()
    one.config.write_bytes(text)
    run(one, bundle)
    assert json.loads(one.text())["enabledPlugins"] == {"anvil-pets@anvil-pets": True}
    install.uninstall(one.records()[0], one.where)
    assert one.text() == text


@pytest.mark.parametrize(
    ("broken", "line"), [(b'{"a": 1,\n}\n', 2), (b"// c\n{}", 1), (b"[]", 1), (b"{\n\xff", 2)]
)
def test_broken_settings_are_left_as_they_are(broken, line, home, bundle):
    one = home()
    one.config.write_bytes(broken)
    with pytest.raises(ActionError) as refused:
        run(one, bundle)
    assert (refused.value.file, refused.value.line) == (str(one.config), line)
    assert (one.text(), one.records()) == (broken, [])


def test_a_home_without_settings_has_none_afterwards(home, bundle):
    one = home()
    one.config.unlink()
    run(one, bundle)
    install.uninstall(one.records()[0], one.where)
    assert not one.config.exists()


def test_a_plugin_that_was_there_stays_as_it_was(home, bundle):
    one = home("bom")
    source = {"source": {"source": "directory", "path": str(bundle)}}
    one.config.write_text(
        json.dumps(
            {
                "enabledPlugins": {"anvil-pets@anvil-pets": False},
                "extraKnownMarketplaces": {"anvil-pets": source},
            }
        )
    )
    before = one.text()
    run(one, bundle)
    outcome = install.uninstall(one.records()[0], one.where)
    assert "was there before" in outcome.warnings[0]
    assert one.text() == before


def test_another_marketplace_of_that_name_is_not_taken_over(home, bundle, tmp_path):
    one = home()
    source = {"source": {"source": "directory", "path": str(tmp_path)}}
    one.config.write_text(json.dumps({"extraKnownMarketplaces": {"anvil-pets": source}}))
    before = one.text()
    with pytest.raises(ActionError, match="not by anvil"):
        run(one, bundle)
    assert (one.text(), one.records()) == (before, [])

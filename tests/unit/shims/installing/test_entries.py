"""Entries put into a text and taken out again: every other byte is as it was."""

from __future__ import annotations

import json

import pytest
import tomllib
from hypothesis import given
from hypothesis import strategies as st

from anvil_shims.installing import json_entries, text_files, toml_entries
from anvil_shims.installing.actions import ActionError

OURS = ("plugins", "anvil-pets@anvil-pets")
VALUES = [
    {"enabled": True},
    {"source": 'C:\\a "b"\n', "list": ["a", 1, False]},
    {"enabled": True, "sub": {"x": 1}},
]
STATEMENTS = [
    "# a comment",
    "",
    "  [features] # indented",
    "hooks_on = true",
    '[plugins."other@x"]',
    "[[hooks.PreToolUse]]",
    '[mcp_servers.notes]\nargs = [\n  "a",\n["b"],\n]',
    '[texts]\nlong = """\n[plugins."anvil-pets@anvil-pets"]\n# no comment\n"""',
    "[dotted]\na.b.c = 1",
]
TOML = st.tuples(
    st.lists(st.sampled_from(STATEMENTS), max_size=6, unique=True),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
)


def toml(parts) -> str:
    statements, end, mark, closed = parts
    text = "\n".join(statements) + ("\n" if closed and statements else "")
    return mark + text.replace("\n", end)


@given(TOML, st.sampled_from(VALUES))
def test_toml_comes_and_goes(parts, value):
    text = toml(parts)
    put = toml_entries.with_entry(text, OURS, value)
    assert toml_entries.parse(put, "")["plugins"][OURS[1]] == value
    assert put.startswith(text)
    assert toml_entries.with_entry(put, OURS, value) == put
    assert toml_entries.with_entry(put, OURS, None) == text


@given(TOML, st.sampled_from(VALUES), st.sampled_from(VALUES))
def test_toml_entries_leave_in_any_order(parts, one, two):
    text, other = toml(parts), ("marketplaces", "anvil-pets")
    put = toml_entries.with_entry(toml_entries.with_entry(text, OURS, one), other, two)
    for first, second in ((OURS, other), (other, OURS)):
        assert toml_entries.with_entry(toml_entries.with_entry(put, first, None), second, None) == text


@given(TOML, st.sampled_from(STATEMENTS))
def test_what_follows_a_toml_entry_stays(parts, later):
    text = toml(parts)
    put = toml_entries.with_entry(text, OURS, {"enabled": True})
    if not put.endswith("\n"):
        return
    follows = "# mine\n\n[later]\nx = 1 # too\n"
    assert toml_entries.with_entry(put + follows, OURS, None) == text + follows


def test_a_changed_toml_value_changes_its_lines_alone():
    text = '# a\n[plugins."anvil-pets@anvil-pets"]\nenabled = false\n# b\n\n[z]\n'
    changed = toml_entries.with_entry(text, OURS, {"enabled": True})
    assert changed == text.replace("false", "true")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = \n", 2), ("a = [\n", 1), ("a = 1\n\nb = 1 2\n", 3), ("\ufeff[a]\r\n[a]\r\n", 2)],
)
def test_broken_toml_is_told_with_its_line(text, line):
    with pytest.raises(ActionError) as refused:
        toml_entries.parse(text, "config.toml")
    assert refused.value.line in (line, line + 1)
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text.removeprefix(text_files.MARK))


NAMES = st.sampled_from(["a", "enabledPlugins", "ü", 'q"uote', "\\", "z@y"])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2)
)
OBJECTS = st.dictionaries(NAMES, LEAVES, max_size=3)
SETTINGS = st.dictionaries(
    NAMES.filter(lambda name: name != "enabledPlugins"), st.one_of(LEAVES, OBJECTS), max_size=3
)
SHAPES = [
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
    {},
    {"separators": (",", ":")},
    {"separators": (" , ", " : ")},
]
ENABLED = ("enabledPlugins", "anvil-pets@anvil-pets")


@given(
    SETTINGS,
    st.one_of(st.none(), OBJECTS),
    st.sampled_from(SHAPES),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([True, {"source": {"source": "directory", "path": "/a"}}]),
)
def test_json_comes_and_goes(settings, plugins, shape, end, value):
    data = settings if plugins is None else {**settings, "enabledPlugins": plugins}
    if not data:
        return
    text = "\ufeff" + json.dumps(data, ensure_ascii=False, **shape).replace("\n", end) + end
    empty = json_entries.container(text, "enabledPlugins")
    put = json_entries.with_entry(text, ENABLED, value)
    assert json_entries.parse(put, "")["enabledPlugins"] == {**(plugins or {}), ENABLED[1]: value}
    assert json_entries.with_entry(put, ENABLED, None, empty) == text


@pytest.mark.parametrize("text", ['{"enabledPlugins": null}', '{"enabledPlugins": [1]}'])
def test_a_json_value_of_another_kind_is_refused(text):
    with pytest.raises(ActionError):
        json_entries.with_entry(text, ENABLED, True)

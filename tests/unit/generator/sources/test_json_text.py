from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_generator.sources import json_text, pointers
from anvil_generator.sources.text import TextError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _places(value, pointer=()):
    yield pointer
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from _places(child, (*pointer, str(key)))


@given(VALUES, st.sampled_from([None, 1]))
def test_every_line_is_that_of_its_key(value, indent):
    """Oracle: mark one key or item in the written text and see on which line the mark stands."""
    text = json.dumps(value, indent=indent)
    tree = json_text.parse(text)
    assert tree.root == value
    for pointer in _places(value):
        line = text.split("\n")[tree.line(pointer) - 1]
        if pointer and isinstance(pointers.get(value, pointer[:-1]), dict):
            assert json.dumps(pointer[-1]) + ":" in line
        elif pointer:
            assert json.dumps(pointers.get(value, pointer), indent=1).split("\n")[0][:1] in line


def test_lines_count_from_one_and_stop_at_what_exists():
    tree = json_text.parse('{\n "a": {\n  "b": [\n   1,\n   {"c": 2}\n  ]\n }\n}')
    assert [tree.line(p) for p in [(), ("a",), ("a", "b"), ("a", "b", "1"), ("a", "b", "1", "c")]] == [
        1,
        2,
        3,
        5,
        5,
    ]
    assert tree.line(("a", "gone")) == 2


def test_keys_written_twice_are_told_with_the_later_line():
    tree = json_text.parse('{\n "a": 1,\n "b": {\n  "c": [{}, {"d": 1,\n   "d": 2}]\n },\n "a": 3\n}')
    assert tree.duplicates == ((("b", "c", "1", "d"), 5), (("a",), 7))


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('{\n "a": 1,\n}', "invalid_json", 3),
        ('{"a": 1}\nx', "invalid_json", 2),
        ('{"NaN": 1,\n "a": NaN}', "invalid_json", 2),
        ('{"a": "1e999",\n"b": 1e999}', "invalid_json", 2),
        ('{"a": ' + "9" * 5000 + "}", "invalid_json", 1),
        ("[" * 200_000, "document_too_deep", None),
    ],
)
def test_what_cannot_be_read_is_told(text, code, line):
    with pytest.raises(TextError) as caught:
        json_text.parse(text)
    assert (caught.value.code, caught.value.line) == (code, line)


def test_half_a_character_becomes_one_that_can_be_written():
    tree = json_text.parse('{"a": "x\\ud83d", "\\udc00": ["\\ud83d\\ude00"]}')
    assert tree.root["a"] == "x\ufffd"
    json.dumps(tree.root, ensure_ascii=False).encode("utf-8")
    assert ["😀"] in tree.root.values()

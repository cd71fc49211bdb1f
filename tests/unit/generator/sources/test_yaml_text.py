from __future__ import annotations

import pytest

from anvil_generator.sources import yaml_text
from anvil_generator.sources.text import MAX_DEPTH, TextError


def test_keys_are_text_and_scalars_are_those_of_json():
    tree = yaml_text.parse(
        "200: a\non: b\nyes: c\nnull: d\n1.5: e\n"
        "values: [yes, on, no, 2020-01-02, 12:30, 0o17, 0x1f, 1_000, ~, '7',"
        " !!str 7, 1e3, .inf, .nan, True, null]\n"
    )
    assert list(tree.root) == ["200", "on", "yes", "null", "1.5", "values"]
    assert tree.root["values"] == [
        "yes", "on", "no", "2020-01-02", "12:30", 15, 31, "1_000", None, "7",
        "7", 1000.0, ".inf", ".nan", True, None,
    ]  # fmt: skip


def test_merge_keys_add_what_is_not_there():
    tree = yaml_text.parse("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n")
    assert tree.root["b"] == {"x": 3, "y": 2}
    assert tree.line(("b", "y")) == 1


def test_lines_are_those_of_keys_and_items():
    tree = yaml_text.parse("# top\na:\n  b:\n  - x\n  - y: 1\n")
    assert [tree.line(p) for p in [(), ("a",), ("a", "b"), ("a", "b", "1"), ("a", "b", "1", "y")]] == [
        2,
        2,
        3,
        5,
        5,
    ]
    assert tree.line(("a", "gone", "b")) == 2


def test_a_key_written_twice_is_told_with_the_second_line():
    tree = yaml_text.parse("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert tree.duplicates == ((("a", "b"), 4),)
    assert tree.root == {"a": {"b": 3, "c": 2}}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: [1\nc: 2\n", "invalid_yaml", 3),
        ("a: 1\n\tb: 2\n", "invalid_yaml", 2),
        ("a: 1\n---\nb: 2\n", "invalid_yaml", 2),
        ("a: *gone\n", "invalid_yaml", 1),
        ("a: 1\nb: \x01\n", "invalid_yaml", 2),
        ("# nothing\n", "document_empty", 1),
        ("a: 1\nb: &b\n  c: *b\n", "yaml_recursive", 2),
        ("a: 1\n? [b]\n: 2\n", "yaml_key", 2),
        ("a: " + "[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5), "document_too_deep", 1),
        ("[" * 100_000, "invalid_yaml", 1),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, code, line):
    with pytest.raises(TextError) as caught:
        yaml_text.parse(text)
    assert (caught.value.code, caught.value.line) == (code, line)


@pytest.mark.parametrize("levels", [6, 30])
def test_a_bomb_of_aliases_is_refused(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    with pytest.raises(TextError) as caught:
        yaml_text.parse("\n".join(lines))
    assert caught.value.code == "yaml_aliases"
    assert caught.value.line is not None


def test_aliases_do_not_hide_depth():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MAX_DEPTH + 1))]
    with pytest.raises(TextError, match="nested deeper"):
        yaml_text.parse("\n".join(lines))


def test_ordinary_aliases_are_fine():
    tree = yaml_text.parse("a: &a {x: [1, 2, 3]}\n" + "".join(f"b{n}: *a\n" for n in range(1000)))
    assert tree.root["b999"] == {"x": [1, 2, 3]}


TRICKY = [
    *("", " ", "on", "yes", "null", "NULL", "~", "<<", "=", "true", "2020-01-02", "12:30", "1_000", "-", "#"),
    *("1", "-1", "0o17", "017", "0x1f", "1e5", "1.5e3", "+.5", ".5", "1.", ".inf", ".NaN", "a: b", "a #b"),
    *("é", "\u2028", "a\nb\n", "'", '"', "!!str x", "&a", "*a", "{", "[", "%a", "@a", "`a", "\t"),
]


@pytest.mark.parametrize("text", TRICKY)
def test_what_is_written_is_read_as_it_was(text):
    data = {"a": text, text: [text, {"b": text}], "c": [1, 1.5, True, None]}
    assert yaml_text.parse(yaml_text.write(data)).root == data


def test_keys_are_written_in_their_order():
    assert yaml_text.write({"b": 1, "a": "é"}) == "b: 1\na: é\n"


@pytest.mark.parametrize(
    "value",
    ["!!bool maybe", "!!int ''", "!!float 1", "!!set {a}", "!!omap []", "!mine x", "!mine {a: 1}"],
)
def test_tags_are_refused_where_they_are_not_passed_over(value):
    with pytest.raises(TextError, match=r"the tag .* means nothing here") as caught:
        yaml_text.parse(f"a: 1\nb: {value}\n", tags=False)
    assert (caught.value.code, caught.value.line) == ("invalid_yaml", 2)
    yaml_text.parse(f"a: 1\nb: {value}\n")


def test_forms_without_a_tag_are_not_refused():
    text = "a: [1, 1.5, true, null, x, 'y', \"z\", !!str 7, {b: c}]\nd: |\n  e\n<<: {f: 2020-01-02}\n"
    assert yaml_text.parse(text, tags=False).root == yaml_text.parse(text).root

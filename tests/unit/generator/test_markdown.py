"""Words of a document in a page of ours: on their own line, and nothing in them that is not seen."""

from __future__ import annotations

import time

import pytest

from anvil_generator.markdown import in_code, in_link, one_line, plain


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("one\ntwo", "one two"),
        ("First\n\nSecond", "First. Second"),
        ("First\r\n\r\nSecond", "First. Second"),
        ("First.\n\n  Second  ", "First. Second"),
        ("First:\n\n\n\n", "First:"),
        ("a\u2028b\x85c", "a b c"),
        ("word " * 10, ("word " * 10).strip()),
        ("a <b>c</b> <ul><li>one</li><li>two</li></ul>", "a c. one. two"),
        ("<p>Cancels</p>\n<P class='x'>it.</P>", "Cancels. it."),
        ("One<br/>two&nbsp;three", "One. two three"),
        ("<!-- not seen --> seen<script>not()</script>", "seen"),
        ("Use `<b>` or <id>", "Use `<b>` or \\<id>"),
        ("<<b>script>x", "\\<script>x"),
        ("<!-- never closed", "\\<!-- never closed"),
        ("a < b, see <https://a.example>", "a < b, see <https://a.example>"),
    ],
)
def test_a_text_on_one_line(text, wanted):
    assert plain(text) == wanted


UNSEEN = [
    *("\x00", "\x1b", "\x7f", "\x9b", "\u00ad", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f", "\u202a"),
    *("\u202e", "\u2060", "\u2066", "\u2069", "\ufe0f", "\ufeff", "\ufff9", "\U000e0041", "\U000e0100"),
]


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("function", [one_line, plain, in_code, in_link])
def test_what_is_not_seen_is_dropped(function, unseen):
    assert function(f"a{unseen}b {unseen} c") == "ab c"


def test_a_tag_in_code_that_is_cut_is_escaped():
    assert plain("see `<b> " + "word " * 9 + "`", 20) == "see `\\<b> word word ..."


def test_a_long_text_is_cut_at_a_word():
    assert plain("word " * 100, 22) == "word word word word ..."
    assert len(plain("x" * 5000)) < 310


@pytest.mark.parametrize(
    "text",
    ["# x", "###### x", "#", "- x", "-", "* x", "+ x", "> x", "```", "```sh x", "~~~", "---", "- - -", "***",
     "_ _ _", "===", "| a |", "1. x", "12) x", "\u200b# x", "<b># x</b>", "\n\n# x"],
)  # fmt: skip
def test_a_line_that_would_begin_a_block_begins_none(text):
    first, backslash, _ = one_line(text).partition("\\")
    assert backslash
    assert first.isdigit() or not first


@pytest.mark.parametrize("text", ["#x", "-5 degrees", "**Bold** words", "1.5 apples", "2024-01-01", "`x` y"])
def test_a_line_that_begins_none_is_left_as_it_is(text):
    assert one_line(text) == text


def test_a_name_stays_inside_its_backticks():
    assert in_code("a`b`\n# c\u202e\x1b[2J") == "a'b' # c[2J"
    assert in_code("x" * 300) == "x" * 80 + "..."


def test_a_text_stays_inside_its_brackets():
    assert in_link("x](http://evil.example) [y`\\\n# z") == "x)(http://evil.example) (y'/ # z"


@pytest.mark.parametrize("piece", ["`a``b```", "<a ", "<!--", "<script>", "- ", "`", "<li "])
def test_a_hostile_text_costs_no_time(piece):
    begin = time.process_time()
    one_line(piece * 200_000)
    assert time.process_time() - begin < 2

"""The skill's pages: names from AIR, a file per tag, nothing that the operations do not have."""

from __future__ import annotations

import pytest
from support.air import make_air, make_operation

from anvil_generator import bundle


def pages(*operations):
    files = bundle._skill_files(make_air(*operations))
    return {file.path: file.data.decode() for file in files}


@pytest.mark.invariant("I7")
def test_the_skill_says_the_control_arguments_by_the_names_that_the_operation_has():
    operation = make_operation(
        name="wipe",
        state="approved",
        tags=("all",),
        effect={"kind": "mutation", "action": "wipe", "risk": "destructive", "reversible": False},
        confirmation={"required": True, "reason": "It destroys data."},
        controls={"confirm": "anvil_confirm", "dry_run": "anvil_dry_run"},
    )
    made = pages(operation)
    page = made["skill/reference/all.md"]
    assert "`anvil_confirm`" in page
    assert "`anvil_dry_run: true`" in page
    for text in made.values():
        assert "`confirm" not in text
        assert "`dry_run" not in text


def test_each_tag_has_a_page_of_its_own_under_its_own_words():
    named = {"a": "Ünï", "b": "日本", "c": "Big Team", "d": "big-team"}
    made = pages(*(make_operation(name=name, state="approved", tags=(tag,)) for name, tag in named.items()))
    headings = sorted(
        text.splitlines()[0].partition(": ")[2] for path, text in made.items() if "/reference/" in path
    )
    assert headings == sorted(named.values())
    for path in made:
        assert path.isascii()


@pytest.mark.parametrize("tag", ["x" * 300, "long words " * 40, "é" * 300, "/" * 300])
def test_a_page_s_file_name_is_short_whatever_the_tag(tag):
    tags = [tag, tag + "y", "other"]
    made = pages(*(make_operation(name=f"a{n}", state="approved", tags=(one,)) for n, one in enumerate(tags)))
    files = [path.rpartition("/")[2] for path in made if "/reference/" in path]
    assert len(files) == 3
    assert max(map(len, files)) <= 64
    assert "other.md" in files


def test_a_tag_spelled_like_another_s_file_gets_its_own():
    first, second = "ü", "ö"
    plain = bundle._tag_files([first, second])[first]
    files = bundle._tag_files([first, second, plain])
    assert len(set(files.values())) == 3

"""Values against OpenAPI's own table "Style Examples", the examples of RFC 6570, and what both leave open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anvil_core.air import Parameter
from anvil_runtime import styles
from anvil_runtime.styles import UnsendableError

TABLE = json.loads((Path(__file__).parents[2] / "fixtures/styles.json").read_text(encoding="utf-8"))
OBJECT = TABLE["values"]["object"]
IN_A_PATH = {"matrix", "label", "simple"}
CELLS = [
    (style, explode, column, written)
    for style, explode, *cells in TABLE["rows"]
    for column, written in zip(TABLE["columns"], cells, strict=True)
]


def parameter(style: str, location: str, *, explode: bool = False, **more) -> Parameter:
    data = {"argument": "color", "name": "color", "location": location, "required": True, "style": style}
    return Parameter.model_validate({**data, "explode": explode, "json_schema": {}, **more})


def query(style: str, value: object, *, explode: bool, **more) -> str:
    pairs = styles.query_pairs(parameter(style, "query", explode=explode, **more), value)
    return "&".join("=".join(pair) for pair in pairs)


def cookie(style: str, value: object, *, explode: bool, **more) -> str:
    pairs = styles.cookie_pairs(parameter(style, "cookie", explode=explode, **more), value)
    return "; ".join("=".join(pair) for pair in pairs)


def written_as(style: str, value: object, *, explode: bool, name: str = "color") -> str:
    """As the specifications print it: a query behind its question mark."""
    if style in IN_A_PATH:
        return styles.path_text(parameter(style, "path", explode=explode, name=name), value)
    if style == "cookie":
        return cookie(style, value, explode=explode, name=name)
    return "?" + query(style, value, explode=explode, name=name)


@pytest.mark.parametrize(
    ("style", "explode", "column", "written"), [cell for cell in CELLS if cell[3] is not None]
)
def test_every_cell_of_the_specification(style, explode, column, written):
    assert written_as(style, TABLE["values"][column], explode=explode) == written


@pytest.mark.parametrize(
    ("style", "explode", "column", "written"), [cell for cell in CELLS if cell[3] is None]
)
def test_what_the_specification_leaves_undefined_is_not_guessed(style, explode, column, written):
    with pytest.raises(UnsendableError, match="writes nothing else"):
        written_as(style, TABLE["values"][column], explode=explode)


@pytest.mark.parametrize(("style", "explode", "name", "value", "written"), TABLE["rfc6570"]["rows"])
def test_the_examples_of_rfc_6570(style, explode, name, value, written):
    assert written_as(style, value, explode=explode, name=name) == written


@pytest.mark.parametrize("column", TABLE["columns"])
@pytest.mark.parametrize("explode", [True, False])
def test_a_header_is_written_as_the_table_has_it_for_simple(explode, column):
    (written,) = [w for style, e, c, w in CELLS if (style, e, c) == ("simple", explode, column)]
    where = parameter("simple", "header", explode=explode)
    assert styles.header_text(where, TABLE["values"][column]) == written


@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (True, "blue", "color=blue"),
        (False, ["blue", "black"], "color=blue,black"),
        (False, {"R": 100}, "color=R,100"),
        (True, "a; b=c", "color=a%3B%20b%3Dc"),
        (False, ["a,b", "c"], "color=a%2Cb,c"),
    ],
)
def test_a_cookie_in_the_form_style(explode, value, written):
    assert cookie("form", value, explode=explode) == written


@pytest.mark.parametrize("value", [["a", "b"], {"a": "b"}])
def test_several_cookies_from_the_form_style_are_never_written(value):
    with pytest.raises(UnsendableError, match="single value"):
        cookie("form", value, explode=True)


@pytest.mark.parametrize(
    ("style", "location", "written"),
    [
        ("form", "query", "color=a,b"),
        ("spaceDelimited", "query", "color=a%20b"),
        ("tabDelimited", "query", "color=a%09b"),
        ("pipeDelimited", "query", "color=a%7Cb"),
        ("simple", "path", "a,b"),
        ("spaceDelimited", "path", "a%20b"),
        ("tabDelimited", "path", "a%09b"),
        ("pipeDelimited", "path", "a%7Cb"),
        ("simple", "header", "a,b"),
        ("spaceDelimited", "header", "a b"),
        ("pipeDelimited", "header", "a|b"),
    ],
)
def test_every_collection_format_of_swagger_2_has_a_style(style, location, written):
    where = parameter(style, location)
    if location == "query":
        assert query(style, ["a", "b"], explode=False) == written
    else:
        write = styles.path_text if location == "path" else styles.header_text
        assert write(where, ["a", "b"]) == written
    assert query("form", ["a", "b"], explode=True) == "color=a&color=b"  # multi


@pytest.mark.parametrize(
    ("style", "location", "explode", "value"),
    [
        ("spaceDelimited", "query", False, ["a b", "c"]),
        ("pipeDelimited", "query", False, {"a": "b|c"}),
        ("label", "path", True, ["a.b", "c"]),
        ("label", "path", True, {"a": 1.5}),
        ("simple", "header", False, ["a,b", "c"]),
        ("simple", "header", True, {"a=b": "c"}),
        ("simple", "header", False, ["a", " b"]),
        ("deepObject", "query", True, {"a]": 1}),
        ("cookie", "cookie", False, ["a,b"]),
        ("form", "query", True, ["a", None]),
        ("deepObject", "query", True, {"a": ["x", "y"]}),
        ("deepObject", "query", True, {"a": {"b": ["x"]}}),
    ],
)
def test_what_an_api_would_read_as_something_else_is_refused(style, location, explode, value):
    where = parameter(style, location, explode=explode)
    write = {
        "query": styles.query_pairs,
        "path": styles.path_text,
        "header": styles.header_text,
        "cookie": styles.cookie_pairs,
    }
    with pytest.raises(UnsendableError, match="holds"):
        write[location](where, value)


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("deepObject", True, {"a": {"b": "x"}, "c": None}, "color%5Ba%5D%5Bb%5D=x"),
        ("form", True, [], ""),
        ("form", False, [], ""),
        ("form", False, {"a": None}, ""),
        ("form", False, {"a": None, "b": 1}, "color=b,1"),
        ("form", True, {"a": None, "b": 1}, "b=1"),
        ("spaceDelimited", False, [], ""),
    ],
)
def test_what_is_undefined_is_left_out(style, explode, value, written):
    assert query(style, value, explode=explode) == written


@pytest.mark.parametrize("value", [[], {}, {"a": None}])
def test_nothing_in_a_list_or_object_is_no_header_and_no_part_of_a_path(value):
    assert styles.header_text(parameter("simple", "header"), value) is None
    for style in ("label", "matrix"):
        with pytest.raises(UnsendableError, match="part of the path"):
            styles.path_text(parameter(style, "path"), value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (5.0, "5"), (0.1, "0.1"), (-3, "-3"), (1e300, "1e%2B300")],
)
def test_primitives_as_json_has_them(value, text):
    assert query("form", value, explode=True) == f"color={text}"


def test_a_value_cannot_end_its_place():
    assert query("form", "a&admin=1#x +é", explode=True) == "color=a%26admin%3D1%23x%20%2B%C3%A9"
    assert query("form", {"a&b": "c"}, explode=True) == "a%26b=c"


def test_reserved_characters_stay_where_the_document_allows_it_but_never_the_delimiters():
    assert query("form", "a/b?c:d@e,f", explode=True, allow_reserved=True) == "color=a/b?c:d@e,f"
    assert query("form", "a&b#c+d[e]", explode=True, allow_reserved=True) == "color=a%26b%23c%2Bd%5Be%5D"
    assert query("form", ["a,b", "c"], explode=False, allow_reserved=True) == "color=a%2Cb,c"
    assert query("form", "a%20b", explode=True, allow_reserved=True) == "color=a%2520b"


def test_json_parameters():
    assert (
        query("form", {"a": [1]}, explode=True, media_type="application/json")
        == "color=%7B%22a%22%3A%5B1%5D%7D"
    )
    assert styles.header_text(parameter("simple", "header", media_type="application/json"), {"a": "é"}) == (
        '{"a":"\\u00e9"}'
    )


def test_headers_are_not_percent_encoded():
    assert styles.header_text(parameter("simple", "header"), ["a b", "c"]) == "a b,c"
    assert styles.header_text(parameter("simple", "header", explode=True), OBJECT) == "R=100,G=200,B=150"


def test_an_object_inside_another_is_refused_where_the_style_has_no_place_for_it():
    with pytest.raises(UnsendableError, match="inside another"):
        query("form", [{"a": 1}], explode=True)


def test_a_value_in_the_media_type_of_its_content_is_not_quoted_where_that_is_text():
    text = {"media_type": "text/plain"}
    assert styles.path_text(parameter("simple", "path", **text), "a b") == "a%20b"
    assert styles.header_text(parameter("simple", "header", **text), 7) == "7"
    assert query("form", "a&b", explode=True, **text) == "color=a%26b"
    assert query("form", "a", explode=True, media_type="application/json") == "color=%22a%22"

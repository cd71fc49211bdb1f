"""Values against the table "Style Examples" of OpenAPI 3.1.1, section 4.8.12.6, and what it leaves open."""

from __future__ import annotations

import pytest

from anvil_core.air import Parameter
from anvil_runtime import styles
from anvil_runtime.styles import UnsendableError

ARRAY, OBJECT = ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}
EMPTY, STRING = "", "blue"


def parameter(style: str, location: str, *, explode: bool = False, **more) -> Parameter:
    data = {"argument": "color", "name": "color", "location": location, "required": True, "style": style}
    return Parameter.model_validate({**data, "explode": explode, "json_schema": {}, **more})


def query(style: str, value: object, *, explode: bool, **more) -> str:
    pairs = styles.query_pairs(parameter(style, "query", explode=explode, **more), value)
    return "&".join("=".join(pair) for pair in pairs)


@pytest.mark.parametrize(
    ("style", "explode", "empty", "string", "array", "object_"),
    [
        ("matrix", False, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        (
            "matrix",
            True,
            ";color",
            ";color=blue",
            ";color=blue;color=black;color=brown",
            ";R=100;G=200;B=150",
        ),
        ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_the_styles_of_a_path(style, explode, empty, string, array, object_):
    where = parameter(style, "path", explode=explode)
    values = (EMPTY, STRING, ARRAY, OBJECT)
    assert [styles.path_text(where, value) for value in values] == [empty, string, array, object_]


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("form", False, EMPTY, "color="),
        ("form", False, STRING, "color=blue"),
        ("form", False, ARRAY, "color=blue,black,brown"),
        ("form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("form", True, EMPTY, "color="),
        ("form", True, STRING, "color=blue"),
        ("form", True, ARRAY, "color=blue&color=black&color=brown"),
        ("form", True, OBJECT, "R=100&G=200&B=150"),
        ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
        ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
        ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        (
            "deepObject",
            True,
            {"a": {"b": ["x", "y"]}},
            "color%5Ba%5D%5Bb%5D%5B0%5D=x&color%5Ba%5D%5Bb%5D%5B1%5D=y",
        ),
        ("form", True, [], ""),
        ("form", False, [], ""),
        ("form", True, {"a": None, "b": 1}, "b=1"),
    ],
)
def test_the_styles_of_a_query(style, explode, value, written):
    assert query(style, value, explode=explode) == written


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

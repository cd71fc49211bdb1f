"""What an API reads is what the caller gave, or nothing is sent: values against readers of others' making.

The reader of queries, forms and parts is Werkzeug; the splitting at delimiters is written here from the
specification's own words ("first split values by delimiter before percent-decoding", OpenAPI 3.1.1,
appendix C). The same call made by ``requests`` must read the same.
"""

from __future__ import annotations

import string
from urllib.parse import unquote

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.http import parse_cookie
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from anvil_core.air import Input, Parameter, SourceRef
from anvil_runtime.origin import target
from anvil_runtime.plan import make_plan
from anvil_runtime.styles import UnsendableError
from tests.support.air import make_air, make_operation

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    alphabet="&=+%;,.#/?[]|\\ \t\r\n\"'éß漢🙂" + string.ascii_letters, max_size=12
)
PRIMITIVE = (
    TEXT | st.integers(-(2**53), 2**53) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)
LISTS = st.lists(PRIMITIVE, max_size=4)
OBJECTS = st.dictionaries(TEXT, PRIMITIVE, max_size=4)
MANY = settings(max_examples=300, deadline=None)
pytestmark = pytest.mark.timeout(120)


def as_text(value: object) -> str:
    """A primitive as the reader of text sees it; numbers are compared as numbers elsewhere."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def plan_of(value: object, style: str, location: str, *, explode: bool):
    """The request with one parameter ``color``; None where the value is refused."""
    parameter = Parameter(
        argument="color",
        name="color",
        location=location,
        required=True,
        style=style,
        explode=explode,
        json_schema={},
    )
    path = "/p/{color}/end" if location == "path" else "/p"
    operation = make_operation(
        source=SourceRef(path=path, method="get", operation_id=None, pointer="/", line=1),
        input=Input(parameters=(parameter,), json_schema={}),
    )
    try:
        return make_plan(operation, {"color": value}, target(make_air(operation).service, {}))
    except UnsendableError:
        return None


def pairs(query: str) -> list[tuple[str, str]]:
    """As a server reads a query."""
    request = Request(EnvironBuilder(path="/p", query_string=query).get_environ())
    return list(request.args.items(multi=True))


def split(text: str, between: str) -> list[str]:
    return [unquote(part) for part in text.split(between)]


def after_name(query: str) -> str:
    name, _, text = query.partition("=")
    assert name == "color"
    return text


@MANY
@given(LISTS)
def test_an_exploded_list_in_the_query(values):
    plan = plan_of(values, "form", "query", explode=True)
    assert pairs(plan.query) == [("color", as_text(value)) for value in values]
    other = requests.Request("GET", "https://a.example/p", params={"color": [as_text(v) for v in values]})
    assert pairs(plan.query) == pairs(other.prepare().url.partition("?")[2])


@MANY
@given(OBJECTS)
def test_an_exploded_object_in_the_query(values):
    plan = plan_of(values, "form", "query", explode=True)
    if plan is not None:
        assert pairs(plan.query) == [(key, as_text(value)) for key, value in values.items()]


@MANY
@given(PRIMITIVE)
def test_a_single_value_in_the_query(value):
    assert pairs(plan_of(value, "form", "query", explode=True).query) == [("color", as_text(value))]


@MANY
@given(
    LISTS,
    st.sampled_from(
        [("form", ","), ("spaceDelimited", "%20"), ("pipeDelimited", "%7C"), ("tabDelimited", "%09")]
    ),
)
def test_a_joined_list_in_the_query(values, style):
    plan = plan_of(values, style[0], "query", explode=False)
    if plan is None:
        delimiter = unquote(style[1])
        assert style[0] != "form"
        assert any(delimiter in as_text(value) for value in values)
    elif values:
        assert split(after_name(plan.query), style[1]) == [as_text(value) for value in values]
    else:
        assert plan.query == ""


@MANY
@given(OBJECTS, st.sampled_from([("form", ","), ("spaceDelimited", "%20"), ("pipeDelimited", "%7C")]))
def test_a_joined_object_in_the_query(values, style):
    plan = plan_of(values, style[0], "query", explode=False)
    if plan is not None and values:
        parts = split(after_name(plan.query), style[1])
        assert dict(zip(parts[::2], parts[1::2], strict=True)) == {k: as_text(v) for k, v in values.items()}


@MANY
@given(OBJECTS)
def test_a_deep_object_in_the_query(values):
    plan = plan_of(values, "deepObject", "query", explode=True)
    if plan is not None:
        assert pairs(plan.query) == [(f"color[{key}]", as_text(value)) for key, value in values.items()]
    else:
        assert any("[" in key or "]" in key for key in values)


@MANY
@given(LISTS.filter(bool), st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_a_list_in_the_path(values, style, explode):
    plan = plan_of(values, style, "path", explode=explode)
    if plan is None:  # dots, nothing at all, or what would split it
        assert any(set(as_text(value)) & {".", "/", "\\"} for value in values) or not any(
            as_text(v) for v in values
        )
        return
    text = plan.path.rpartition("/end")[0].rpartition("/")[2]
    if style == "label":
        text = text.removeprefix(".")
    if style == "matrix":
        whole = [one.partition("=")[2] for one in text.split(";")[1:]]
        read = [unquote(part) for part in whole] if explode else split(whole[0], ",")
    else:
        read = split(text, "." if style == "label" and explode else ",")
    assert read == [as_text(value) for value in values]


@MANY
@given(OBJECTS.filter(bool), st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_an_object_in_the_path(values, style, explode):
    plan = plan_of(values, style, "path", explode=explode)
    if plan is None:
        return
    text = plan.path.rpartition("/end")[0].rpartition("/")[2]
    if style == "label":
        text = text.removeprefix(".")
    elif style == "matrix":
        text = text.removeprefix(";") if explode else text.removeprefix(";color=")
    between = {"simple": ",", "label": ".", "matrix": ";"}[style] if explode else ","
    parts = text.split(between)
    read = (
        [one.partition("=")[::2] for one in parts] if explode else zip(parts[::2], parts[1::2], strict=True)
    )
    assert {unquote(k): unquote(v) for k, v in read} == {k: as_text(v) for k, v in values.items()}


@MANY
@given(LISTS, st.booleans())
def test_a_list_in_a_header(values, explode):
    plan = plan_of(values, "simple", "header", explode=explode)
    if plan is not None and values:
        read = [part.strip() for part in dict(plan.headers)["color"].split(",")]
        assert read == [as_text(value) for value in values]


@MANY
@given(PRIMITIVE | LISTS)
def test_a_cookie(value):
    plan = plan_of(value, "form", "cookie", explode=False)
    if value == []:
        assert "Cookie" not in dict(plan.headers)
        return
    (text,) = parse_cookie(dict(plan.headers)["Cookie"]).getlist("color")
    expected = [as_text(one) for one in (value if isinstance(value, list) else [value])]
    assert (split(text, ",") if isinstance(value, list) else [unquote(text)]) == expected


@MANY
@given(OBJECTS)
def test_cookies_in_the_style_of_their_own(values):
    plan = plan_of(values, "cookie", "cookie", explode=True)
    if plan is not None and values:
        read = list(parse_cookie(dict(plan.headers)["Cookie"]).items(multi=True))
        assert read == [(key, as_text(value)) for key, value in values.items()]

"""What an API reads in a form is what the caller gave: Werkzeug's parser on the receiving side.

The same call made with ``requests`` must read the same.
"""

from __future__ import annotations

import base64
import json
import string
from urllib.parse import quote

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from anvil_core.air import Body
from anvil_runtime.bodies import encode_body

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    alphabet="&=+%;,-\r\n \t\"'\\éß漢🙂" + string.ascii_letters, max_size=12
)
# A name of a part is quoted, and readers differ in how they read an escaped quote.
PART_NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\%'), min_size=1, max_size=9
)
PRIMITIVE = TEXT | st.integers(-(2**53), 2**53) | st.booleans()
JSON = st.recursive(
    PRIMITIVE | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
VALUES = PRIMITIVE | OBJECTS | st.lists(PRIMITIVE | OBJECTS, max_size=3)
MANY = settings(max_examples=300, deadline=None)
pytestmark = pytest.mark.timeout(120)


def sent(media_type: str, value: object, **more) -> Request:
    body = Body(argument="body", media_type=media_type, required=True, json_schema={}, **more)
    content_type, content = encode_body(body, value)
    return read(content_type, content)


def read(content_type: str, content: bytes) -> Request:
    made = EnvironBuilder(path="/", method="POST", data=content, content_type=content_type)
    return Request(made.get_environ())


def as_text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def pairs(value: dict) -> list[tuple[str, str]]:
    many = [(name, item if isinstance(item, list) else [item]) for name, item in value.items()]
    return [(name, as_text(one)) for name, items in many for one in items]


@MANY
@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_a_urlencoded_form(value):
    expected = pairs(value)
    assert sorted(sent(FORM, value).form.items(multi=True)) == sorted(expected)
    if expected:
        other = requests.Request("POST", "https://a.example/", data=expected).prepare()
        same = read(other.headers["Content-Type"], other.body.encode())
        assert sorted(same.form.items(multi=True)) == sorted(expected)


@MANY
@given(st.dictionaries(PART_NAMES, VALUES, max_size=4))
def test_the_parts_of_a_multipart_form(value):
    expected = pairs(value)
    assert sorted(sent(MULTIPART, value).form.items(multi=True)) == sorted(expected)
    if expected and all(text for _, text in expected):
        parts = [(name, (None, text.encode())) for name, text in expected]
        other = requests.Request("POST", "https://a.example/", files=parts).prepare()
        same = read(other.headers["Content-Type"], other.body)
        assert sorted(same.form.items(multi=True)) == sorted(expected)


@MANY
@given(PART_NAMES, st.lists(st.binary(max_size=200), max_size=3), PART_NAMES)
def test_the_files_of_a_multipart_form(name, contents, filename):
    given_as = [
        f"data:image/png;name={quote(filename, safe='')};base64,{base64.b64encode(one).decode()}"
        for one in contents
    ]
    with sent(MULTIPART, {name: given_as}, fields=({"name": name, "file": True},)) as request:
        files = [(one.read(), one.filename, one.mimetype) for one in request.files.getlist(name)]
    assert files == [(one, filename, "image/png") for one in contents]


@MANY
@given(st.binary(max_size=300))
def test_bytes(content):
    text = base64.b64encode(content).decode()
    assert sent("application/octet-stream", text).get_data() == content
    assert sent("application/octet-stream", text, encoded=True).get_data() == text.encode()


@MANY
@given(JSON, st.sampled_from(["application/json", "application/merge-patch+json"]))
def test_json(value, media_type):
    assert sent(media_type, value).get_json() == value


@MANY
@given(TEXT, st.sampled_from(["text/plain", "text/csv"]))
def test_text(value, media_type):
    assert sent(media_type, value).get_data().decode("utf-8") == value

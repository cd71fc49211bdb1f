from __future__ import annotations

import pytest

from anvil_core.air import Body
from anvil_core.media_types import SUPPORTED_BODIES
from anvil_runtime.bodies import encode_body
from anvil_runtime.styles import UnsendableError

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def encoded(media_type: str, value: object, *fields: dict, **more) -> tuple[str, bytes]:
    body = {
        "argument": "body",
        "media_type": media_type,
        "required": True,
        "json_schema": {},
        "fields": fields,
    }
    return encode_body(Body.model_validate({**body, **more}), value)


def form(value: object, *fields: dict) -> str:
    return encoded(FORM, value, *fields)[1].decode("ascii")


@pytest.mark.parametrize(
    ("media_type", "value", "content_type", "content"),
    [
        (
            "application/json",
            {"a": "é", "b": [1, None]},
            "application/json",
            '{"a":"é","b":[1,null]}'.encode(),
        ),
        ("application/merge-patch+json", {"a": None}, "application/merge-patch+json", b'{"a":null}'),
        (
            "application/json-patch+json",
            [{"op": "add", "path": "/a", "value": None}],
            "application/json-patch+json",
            b'[{"op":"add","path":"/a","value":null}]',
        ),
        ("application/json", None, "application/json", b"null"),
        (
            "application/x-www-form-urlencoded",
            {"a": "x y&z", "b": ["1", 2], "c": {"d": True}, "e": None, "f": True},
            "application/x-www-form-urlencoded",
            b"a=x+y%26z&b=1&b=2&c=%7B%22d%22%3Atrue%7D&f=true",
        ),
        ("text/plain", "hé", "text/plain", "hé".encode()),
        ("text/plain", 7, "text/plain", b"7"),
        ("text/xml", "<a/>", "text/xml", b"<a/>"),
        ("application/octet-stream", "AAH/", "application/octet-stream", b"\x00\x01\xff"),
    ],
)
def test_a_body_as_bytes(media_type, value, content_type, content):
    assert encoded(media_type, value) == (content_type, content)


def test_base64_that_the_schema_asks_for_goes_out_as_it_is():
    octets = "application/octet-stream"
    assert encoded(octets, "AAH/", encoded=True) == (octets, b"AAH/")


@pytest.mark.parametrize(
    ("media_type", "value", "problem"),
    [
        ("application/octet-stream", "not base64!", "base64"),
        ("application/octet-stream", "AAAA!", "base64"),
        ("application/octet-stream", {"a": 1}, "base64"),
        ("text/plain", {"a": 1}, "as a string"),
        ("application/xml", "<a/>", "as a string"),
        ("application/x-www-form-urlencoded", "a=b", "object"),
        ("application/x-www-form-urlencoded", {"a": [None]}, "holds null"),
        ("multipart/form-data", "a", "object"),
        ("application/x-www-form-urlencoded", {"_method": "DELETE"}, "no argument ever sets"),
        ("multipart/form-data", {"_method": "DELETE"}, "no argument ever sets"),
    ],
)
def test_what_a_body_cannot_hold_is_said(media_type, value, problem):
    with pytest.raises(UnsendableError, match=problem):
        encoded(media_type, value)


def test_whatever_body_is_compiled_can_be_written():
    values = {
        "json": ("application/json", [1], b"[1]"),
        "form": ("application/x-www-form-urlencoded", {"a": 1}, b"a=1"),
        "text": ("text/plain", "a", b"a"),
        "bytes": ("application/octet-stream", "AA==", b"\x00"),
    }
    assert {*values, "multipart"} == SUPPORTED_BODIES
    for media_type, value, content in values.values():
        assert encoded(media_type, value) == (media_type, content)


@pytest.mark.parametrize(
    ("field", "value", "written"),
    [
        ({"style": "form"}, ["x,y", "z"], "a=x%2Cy,z"),
        ({"style": "form", "explode": True}, {"R": 1, "G": "é &"}, "R=1&G=%C3%A9%20%26"),
        ({"style": "deepObject", "explode": True}, {"R": 1}, "a%5BR%5D=1"),
        ({"style": "spaceDelimited"}, ["x", "y"], "a=x%20y"),
        ({"style": "form", "explode": True, "allow_reserved": True}, "x/y&z", "a=x/y%26z"),
        ({"media_types": ["application/json"]}, "x", "a=%22x%22"),
        ({"media_types": ["application/json"]}, ["x", 1], "a=%22x%22&a=1"),
    ],
)
def test_a_field_of_a_form_in_its_own_way(field, value, written):
    assert form({"a": value}, {"name": "a", **field}) == written


@pytest.mark.parametrize(
    ("key", "problem"), [("b", "must not set b"), ("c", "must not set c"), ("_method", "ever")]
)
@pytest.mark.parametrize("media_type", [FORM, MULTIPART])
def test_the_keys_of_a_field_set_no_other(media_type, key, problem):
    spread = {"name": "a", "style": "form", "explode": True, "others": ["a", "b"]}
    with pytest.raises(UnsendableError, match=problem):
        encoded(media_type, {"a": {key: 1}, "c": 2}, spread)


def test_multipart_has_one_part_for_each_value_and_a_boundary_from_its_bytes():
    file = {"name": "file", "file": True}
    value = {"note": "é", 'a"b\r\nX: y': "1", "meta": {"k": 1}, "tags": ["x", "y"], "file": "AAH/"}
    content_type, content = encoded(MULTIPART, value, file)
    boundary = content_type.partition("boundary=")[2].encode()
    parts = content.split(b"--" + boundary)
    assert parts[-1] == b"--\r\n"
    assert parts[0] == b""
    assert b'name="note"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\xc3\xa9\r\n' in parts[1]
    assert b'name="a%22b%0D%0AX: y"' in parts[2]
    assert b'Content-Type: application/json\r\n\r\n{"k":1}\r\n' in parts[3]
    assert [b'name="tags"' in part for part in parts[4:6]] == [True, True]
    assert b'filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\x01\xff\r\n' in parts[6]
    assert encoded(MULTIPART, value, file) == (content_type, content)


@pytest.mark.parametrize(
    ("types", "value", "content_type", "filename"),
    [
        ([], "AAH/", "application/octet-stream", "file"),
        ([], "data:image/png;base64,AAH/", "image/png", "file"),
        ([], "data:image/png;name=a%20b.png;base64,AAH/", "image/png", "a b.png"),
        ([], "data:;name=a%22%0D%0A.png;base64,AAH/", "application/octet-stream", "a%22%0D%0A.png"),
        (["image/png"], "AAH/", "image/png", "file"),
        (["image/png", "image/jpeg"], "data:image/jpeg;base64,AAH/", "image/jpeg", "file"),
        (["image/*"], "data:image/gif;base64,AAH/", "image/gif", "file"),
    ],
)
def test_a_file_says_what_it_is_and_what_it_is_called(types, value, content_type, filename):
    _, content = encoded(MULTIPART, {"file": value}, {"name": "file", "file": True, "media_types": types})
    head, _, rest = content.partition(b"\r\n\r\n")
    assert f'name="file"; filename="{filename}"\r\nContent-Type: {content_type}'.encode() in head
    assert rest.startswith(b"\x00\x01\xff\r\n")


@pytest.mark.parametrize(
    ("types", "value", "problem"),
    [
        (["image/png", "image/jpeg"], "AAH/", "must say what it is"),
        (["image/*"], "AAH/", "must say what it is"),
        (["image/png"], "data:text/html;base64,AAH/", "must be one of image/png, not text/html"),
        (["image/*"], "data:text/html;base64,AAH/", "not text/html"),
        ([], "data:image/png,AAH/", "base64"),
        ([], "data:a/b\r\nX: y;base64,AAH/", "base64"),
        ([], 7, "base64"),
        ([], [["AAH/"]], "base64"),
    ],
)
def test_a_file_that_is_not_what_is_asked_for_is_refused(types, value, problem):
    with pytest.raises(UnsendableError, match=problem):
        encoded(MULTIPART, {"file": value}, {"name": "file", "file": True, "media_types": types})


@pytest.mark.parametrize(
    ("field", "value", "parts"),
    [
        ({"media_types": ["application/xml"]}, "<a/>", [b"Content-Type: application/xml\r\n\r\n<a/>"]),
        ({"media_types": ["application/json"]}, "x", [b'Content-Type: application/json\r\n\r\n"x"']),
        ({"style": "pipeDelimited"}, ["x y", "z"], [b'name="a"', b"\r\n\r\nx y|z\r\n"]),
        ({"style": "deepObject", "explode": True}, {"R": 1}, [b'name="a[R]"', b"\r\n\r\n1\r\n"]),
    ],
)
def test_a_part_in_its_own_way(field, value, parts):
    _, content = encoded(MULTIPART, {"a": value}, {"name": "a", **field})
    assert all(part in content for part in parts)

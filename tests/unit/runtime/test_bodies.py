from __future__ import annotations

import pytest

from anvil_core.air import Body
from anvil_core.media_types import SUPPORTED_BODIES
from anvil_runtime.bodies import encode_body
from anvil_runtime.styles import UnsendableError


def encoded(media_type: str, value: object, schema: dict | None = None) -> tuple[str, bytes]:
    body = Body(argument="body", media_type=media_type, required=True, json_schema=schema or {})
    return encode_body(body, value)


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
        ("application/json", None, "application/json", b"null"),
        (
            "application/x-www-form-urlencoded",
            {"a": "x y&z", "b": ["1", 2], "c": {"d": True}, "e": None, "f": True},
            "application/x-www-form-urlencoded",
            b"a=x+y%26z&b=1&b=2&c=%7B%22d%22%3Atrue%7D&f=true",
        ),
        ("text/plain", "hé", "text/plain", "hé".encode()),
        ("application/xml", "<a/>", "application/xml", b"<a/>"),
        ("application/octet-stream", "AAH/", "application/octet-stream", b"\x00\x01\xff"),
        ("image/png", "AAH/", "image/png", b"\x00\x01\xff"),
    ],
)
def test_a_body_as_bytes(media_type, value, content_type, content):
    assert encoded(media_type, value) == (content_type, content)


@pytest.mark.parametrize(
    ("media_type", "value", "problem"),
    [
        ("application/octet-stream", "not base64!", "base64"),
        ("application/octet-stream", "AAAA!", "base64"),
        ("application/octet-stream", {"a": 1}, "base64"),
        ("text/plain", {"a": 1}, "as a string"),
        ("application/x-www-form-urlencoded", "a=b", "object"),
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
    }
    assert set(values) == SUPPORTED_BODIES
    for media_type, value, content in values.values():
        assert encoded(media_type, value) == (media_type, content)


def test_multipart_has_one_part_for_each_value_and_a_boundary_from_its_bytes():
    schema = {"properties": {"file": {"type": "string", "format": "binary"}}}
    value = {"note": "é", 'a"b\r\nX: y': "1", "meta": {"k": 1}, "tags": ["x", "y"], "file": "AAH/"}
    content_type, content = encoded("multipart/form-data", value, schema)
    boundary = content_type.partition("boundary=")[2].encode()
    parts = content.split(b"--" + boundary)
    assert parts[-1] == b"--\r\n"
    assert parts[0] == b""
    assert b'name="note"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\xc3\xa9\r\n' in parts[1]
    assert b'name="a%22b%0D%0AX: y"' in parts[2]
    assert b'Content-Type: application/json\r\n\r\n{"k":1}\r\n' in parts[3]
    assert [b'name="tags"' in part for part in parts[4:6]] == [True, True]
    assert b'filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\x01\xff\r\n' in parts[6]
    assert encoded("multipart/form-data", value, schema) == (content_type, content)

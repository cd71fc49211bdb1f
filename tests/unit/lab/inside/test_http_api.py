from __future__ import annotations

import http.client

import pytest

from anvil_lab.inside.http_api import Api
from anvil_lab.inside.records import Answer


def ask(api, method, path, body=None, headers=None):
    link = http.client.HTTPConnection(*api.server_address, timeout=10)
    try:
        link.request(method, path, body, headers or {}, encode_chunked=not isinstance(body, bytes))
        answer = link.getresponse()
        return answer.status, answer.read()
    finally:
        link.close()


def test_any_method_and_path_is_logged_whole_and_answered():
    with Api(call=lambda: 7) as api:
        assert ask(api, "BREW", "/pot?a=1&a=2&b=", b'{"x": true}', {"X-Key": "k"}) == (200, b"{}")
    [seen] = api.requests
    assert (seen.call, seen.method, seen.path) == (7, "BREW", "/pot")
    assert seen.query == {"a": ["1", "2"], "b": [""]}
    assert seen.headers["x-key"] == "k"
    assert seen.body == {"x": True}


@pytest.mark.parametrize(
    ("body", "seen"), [(None, None), (b"a=1", "a=1"), (b"\xff", "\ufffd"), (b"null", None)]
)
def test_bodies(body, seen):
    with Api() as api:
        ask(api, "POST", "/", body)
    assert api.requests[0].body == seen


def test_a_chunked_body_is_read():
    with Api() as api:
        ask(api, "POST", "/", iter([b'{"a"', b": 1}"]), {"Transfer-Encoding": "chunked"})
    assert api.requests[0].body == {"a": 1}


def test_answers_are_given_by_method_and_path():
    answers = [Answer("GET", "/a", [1], 201), Answer("DELETE", "/a", None, 204)]
    with Api(answers) as api:
        assert ask(api, "GET", "/a?x=1") == (201, b"[1]")
        assert ask(api, "DELETE", "/a") == (204, b"")
        assert ask(api, "HEAD", "/a") == (200, b"")
        assert ask(api, "POST", "/a") == (200, b"{}")

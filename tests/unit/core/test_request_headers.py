from __future__ import annotations

import pytest

from anvil_core.request_headers import NAME, VALUE, is_ignored, is_never_an_argument


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "authorization", "Cookie", "cookie2", "Set-Cookie", "Proxy-Authorization", "X-Remote-User"),
        *("X-HTTP-Method", "X-HTTP-Method-Override", "x_http_method_override", "X-Method-Override"),
        *("X-HTTP-Verb", "Forwarded", "X-Forwarded", "X-Forwarded-For", "X_Forwarded_Host", "Via"),
        *("X-Original-URL", "X-Original-URI", "X-Rewrite-URL", "HTTP-Host-Override", "True-Client-IP"),
        *("CF-Connecting-IP", "X-Remote-Addr", "Content-Length", "Content-Encoding", "Transfer-Encoding"),
        *("Connection", "TE", "Trailer", "Upgrade", "Expect", "Keep-Alive", "Sec-Fetch-Site"),
    ],
)
def test_headers_that_no_argument_sets(name):
    assert is_never_an_argument(name, "header")
    assert not is_never_an_argument(name, "path")


@pytest.mark.parametrize(
    ("name", "location"),
    [
        *(("User-Agent", "header"), ("X-Request-Id", "header"), ("Idempotency-Key", "header")),
        *(("If-Match", "header"), ("host", "query"), ("method", "query"), ("_method", "path")),
    ],
)
def test_what_an_argument_may_set(name, location):
    assert not is_never_an_argument(name, location)
    assert not is_ignored(name, location)


@pytest.mark.parametrize(
    "name", ["_method", "_METHOD", "X-HTTP-Method-Override", "_HttpMethod", "_HTTP_METHOD", "x-http-method"]
)
def test_names_in_the_query_that_are_another_method(name):
    assert is_never_an_argument(name, "query")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "session",
            "SESSIONID",
            "JSESSIONID",
            "PHPSESSID",
            "ASP.NET_SessionId",
            "connect.sid",
            "sess_1",
            "SID",
        ),
        *("MyToken", "access_token", "csrftoken", "XSRF-TOKEN", "auth", "x-auth", "jwt", "ApiKey", "api_key"),
        *("__Host-theme", "__Secure-theme", "login", "client_secret"),
    ],
)
def test_a_cookie_that_says_who_is_calling_is_no_argument(name):
    assert is_never_an_argument(name, "cookie")


@pytest.mark.parametrize("name", ["theme", "lang", "array", "object", "side", "author", "last_seen"])
def test_any_other_cookie_may_be_one(name):
    assert not is_never_an_argument(name, "cookie")


@pytest.mark.parametrize("name", ["Accept", "ACCEPT-ENCODING", "Content-Type", "Authorization"])
def test_headers_that_are_ignored_as_parameters(name):
    assert is_ignored(name, "header")
    assert not is_ignored(name, "query")


@pytest.mark.parametrize("name", ["", "a b", "a:", "é", "a\n"])
def test_what_is_no_name(name):
    assert not NAME.fullmatch(name)


@pytest.mark.parametrize("value", ["", " a", "a ", "a\nb", "a\tb", "é", "\x7f"])
def test_what_is_no_value(value):
    assert not VALUE.fullmatch(value)
    assert VALUE.fullmatch("a b;c=d")

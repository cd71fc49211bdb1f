from __future__ import annotations

import pytest

from anvil_runtime.origin import OriginError, target


@pytest.fixture
def service(contract):
    return contract().service


def test_the_contracts_origin_without_an_override(service):
    goal = target(service, {"HTTP_PROXY": "http://evil.example"})
    assert (str(goal.origin), goal.base_path, goal.overridden) == ("https://api.shop.example", "/api", False)


@pytest.mark.parametrize(
    ("url", "origin", "base_path"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "/api"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", "/api"),
        ("https://localhost", "https://localhost", "/api"),
        ("http://[::1]:9/mock/v2/", "http://[::1]:9", "/mock/v2"),
        ("http://127.9.8.7", "http://127.9.8.7", "/api"),
    ],
)
def test_an_override_to_this_machine(service, url, origin, base_path):
    goal = target(service, {"ANVIL_BASE_URL": url})
    assert (str(goal.origin), goal.base_path, goal.overridden) == (origin, base_path, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example",
        "https://api.shop.example",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.1@evil.example",
        "http://evil.example#127.0.0.1",
        "http://evil.example\\@127.0.0.1",
        "http://127.0.0.1\\@evil.example",
        "http://localhost.evil.example",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://169.254.1.1",
        "http://127.1",
        "http://2130706433",
        "http://[::ffff:127.0.0.1]",
        "http://[::ffff:10.0.0.1]",
        "http://[::1%25eth0]",
        "http://user:pass@127.0.0.1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1/?a=b",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "127.0.0.1:80",
        "http://",
        "http://ⓛocalhost",
        " http://127.0.0.1",
    ],
)
def test_an_override_to_anywhere_else_is_refused_with_words(service, url):
    with pytest.raises(OriginError, match=r"ANVIL_BASE_URL is .* localhost only"):
        target(service, {"ANVIL_BASE_URL": url})

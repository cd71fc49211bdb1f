"""Which variables and files may hold a credential, and how a variable is called by default."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from anvil_core.air import SecretSource
from anvil_core.secret_sources import default_variable, file_trouble, variable_trouble


@pytest.mark.parametrize("name", ["PAYMENTS_API_KEY", "a", "_x9", "PATHS", "MY_PYTHON", "HTTP_PROXY_KEY"])
def test_variables_that_may(name):
    assert variable_trouble(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "9A", "A-B", "A=B", "A B", "Ä", "A\n", "x" * 101),
        *("PATH", "path", "HOME", "LD_PRELOAD", "PYTHONPATH", "PYTHON", "https_proxy", "NO_PROXY"),
        *("ANVIL_BASE_URL", "DYLD_INSERT_LIBRARIES", "LC_ALL", "SSL_CERT_FILE"),
    ],
)
def test_variables_that_may_not(name):
    assert variable_trouble(name)
    with pytest.raises(ValidationError):
        SecretSource(part="value", env=name)


def test_files():
    assert file_trouble("/etc/keys/shop") is None
    assert file_trouble("~/.config/shop/key") is None
    for path in (
        "",
        "key",
        "./key",
        "~",
        "~/",
        "~other/key",
        "/a/../b",
        "~/../b",
        "/a/./b",
        "/a//b",
        "/a/",
        "/a\n",
        "/",
    ):
        assert file_trouble(path), path


@pytest.mark.parametrize("places", [{}, {"env": "A", "file": "/a"}])
def test_one_place_and_no_value(places):
    with pytest.raises(ValidationError):
        SecretSource(part="value", **places)


@pytest.mark.parametrize(
    ("service", "words", "part", "name"),
    [
        ("payments", ["api", "key"], "value", "PAYMENTS_API_KEY"),
        ("my-shop", ["login"], "password", "MY_SHOP_LOGIN_PASSWORD"),
        ("paypal", ["oauth2"], "client_id", "PAYPAL_OAUTH2_CLIENT_ID"),
        ("shop", [], "value", "SHOP_CREDENTIAL"),
        ("http", ["proxy"], "value", "API_HTTP_PROXY"),
        ("python", ["key"], "value", "API_PYTHON_KEY"),
    ],
)
def test_the_usual_variable(service, words, part, name):
    assert default_variable(service, words, part) == name

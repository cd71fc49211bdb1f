from __future__ import annotations

import pytest

from anvil_runtime.headers import check_header
from anvil_runtime.styles import UnsendableError


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-HTTP-Method-Override",
        "X-Method-Override",
        "x_http_method_override",
        "X-Forwarded-Host",
        "X-Forwarded-For",
        "Forwarded",
        "X-Original-URL",
        "X-Rewrite-URL",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
    ],
)
def test_no_argument_sets_a_header_that_names_host_caller_or_method(name):
    with pytest.raises(UnsendableError, match="no argument ever sets"):
        check_header("x", name, "value", set())


@pytest.mark.parametrize("value", ["a\r\nEvil: 1", "a\n", " a", "a ", "é", "a\x00b", "\x7f"])
def test_values_that_could_end_or_bend_the_header(value):
    with pytest.raises(UnsendableError, match="visible ASCII"):
        check_header("x", "X-Note", value, set())


@pytest.mark.parametrize("value", ["", "a", "a b", "a,b;c=d"])
def test_plain_values_pass(value):
    check_header("x", "X-Note", value, {"accept"})


def test_a_header_that_is_set_already_or_whose_name_is_none():
    with pytest.raises(UnsendableError, match="already set"):
        check_header("x", "Idempotency-Key", "a", {"idempotency-key"})
    with pytest.raises(UnsendableError, match="name is none"):
        check_header("x", "X Note:", "a", set())

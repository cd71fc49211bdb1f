"""A secret is found in every spelling, in every kind of value, and in a stream that is cut anywhere."""

from __future__ import annotations

import base64
import html
import io
import json
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anvil_runtime.redaction import MARK, CleanLog, Secrets

SECRET = 'k/3+y=&"\\ü<z>Q9'


@pytest.fixture
def secrets() -> Secrets:
    made = Secrets()
    made.add(SECRET)
    return made


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", "\\/"),
        json.dumps(json.dumps(SECRET))[3:-3],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%BC", "%c3%bc")
        .replace("%3D", "%3d").replace("%5C", "%5c").replace("%3C", "%3c").replace("%3E", "%3e"),
        quote_plus(SECRET),
        html.escape(SECRET),
        repr(SECRET)[1:-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)  # fmt: skip
def test_every_spelling(secrets, spelled):
    # The last characters of base64 hold bits of what follows, and tell nothing by themselves.
    cleaned = secrets.clean_text(f"before {spelled} after")
    assert cleaned.startswith(f"before {MARK}")
    assert cleaned.endswith(" after")
    assert len(cleaned) <= len(f"before {MARK}xx== after")
    assert secrets.clean_bytes(spelled.encode()).startswith(MARK.encode())


QUOTED = "ab'c&d<efgh>/ij\"12"
"""A secret with every character that one language escapes and another does not."""


@pytest.mark.parametrize(
    "spelled",
    [
        r"ab'c\u0026d\u003cefgh\u003e/ij\"12",  # Go's encoding/json
        r"ab\u0027c\u0026d\u003Cefgh\u003E\/ij\"12",  # PHP with JSON_HEX_TAG, JSON_HEX_AMP and JSON_HEX_APOS
        r"ab\u0027c\u0026d\u003cefgh\u003e/ij\"12",
        "ab&#39;c&amp;d&lt;efgh&gt;/ij&#34;12",  # Go's html
        "ab&#039;c&amp;d&lt;efgh&gt;/ij&quot;12",  # PHP's htmlspecialchars
        "ab&apos;c&amp;d&lt;efgh&gt;/ij&quot;12",
        "ab'c&amp;d&lt;efgh&gt;/ij&quot;12",
        "ab'c%26d%3Cefgh%3E%2Fij%2212",  # encodeURIComponent
    ],
)
def test_as_other_languages_write_it(spelled):
    secrets = Secrets()
    secrets.add(QUOTED)
    assert secrets.clean_text(f"before {spelled} after") == f"before {MARK} after"


@given(before=st.binary(max_size=7), after=st.binary(max_size=7), secret=st.text(min_size=12, max_size=40))
def test_in_the_base64_of_a_text_around_it(before, after, secret):
    data = secret.encode("utf-8", "surrogatepass")
    secrets = Secrets()
    secrets.add(secret)
    whole = base64.b64encode(before + data + after).decode()
    assert MARK in secrets.clean_text(whole)
    left = secrets.clean_text(whole).replace(MARK, "")
    assert len(left) <= len(whole) - len(data)


@dataclass(frozen=True)
class Thing:
    name: str
    body: bytes
    more: tuple[str, ...] = ()


def test_every_kind_of_value(secrets):
    value = {SECRET: [SECRET, 5, None, True, {"a": (SECRET, b"x" + SECRET.encode())}]}
    assert secrets.clean(value) == {MARK: [MARK, 5, None, True, {"a": (MARK, b"x" + MARK.encode())}]}
    assert secrets.clean(Thing(SECRET, SECRET.encode(), (SECRET,))) == Thing(MARK, MARK.encode(), (MARK,))


def test_what_is_none_stays_as_it_is(secrets):
    value = {"a": ["b", 1.5], "c": None}
    assert secrets.clean(value) == value
    assert secrets.clean_text("k/3+y=&") == "k/3+y=&"


def test_too_short_to_be_told_from_other_text():
    secrets = Secrets()
    secrets.add("", "a", "12345")
    assert secrets.clean_text("a 12345") == "a 12345"


@given(
    st.lists(st.integers(min_value=1, max_value=40), max_size=30), st.text(max_size=30), st.text(max_size=30)
)
def test_a_stream_that_is_cut_anywhere(cuts, before, after):
    secrets = Secrets()
    secrets.add(SECRET, "another-secret")
    assume(SECRET not in before + after)
    data = f"{before}{SECRET}{after}another-secret{before}".encode()
    stream, written, at = secrets.stream(), b"", 0
    for cut in cuts:
        written += stream.feed(data[at : at + cut])
        at += cut
    written += stream.feed(data[at:]) + stream.end()
    assert written == secrets.clean_bytes(data)
    assert SECRET.encode() not in written


def test_the_log(secrets):
    log = io.StringIO()
    clean = CleanLog(log, secrets)
    print("it is", SECRET, file=clean)
    clean.writelines([SECRET[:4], SECRET[4:]])
    try:
        int(SECRET)
    except ValueError:
        secrets.print_traceback(log)
    assert SECRET not in log.getvalue()
    assert log.getvalue().count(MARK) == 3

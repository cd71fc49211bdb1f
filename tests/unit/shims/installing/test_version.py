"""What a person is told of the version that they have."""

from __future__ import annotations

import pytest

from anvil_shims.installing import common_checks
from anvil_shims.installing.actions import Verified

BROKEN = {"1.0.0": ("a.b:outcome", "a.c:outcome"), "1.2.0": (), "1.4.0": ()}
KNOWN = Verified("1.2.0", "1.4.0", BROKEN)


@pytest.mark.parametrize(
    ("version", "state", "words"),
    [
        ("1.4.0", "verified", "1.4.0: tried, and what we rely on holds in 1.2.0 to 1.4.0"),
        ("1.3.0", "verified", "1.3.0: what we rely on holds in 1.2.0 to 1.4.0"),
        ("1.1.0", "older", "1.1.0: not tried; what we rely on holds in 1.2.0 to 1.4.0"),
        ("1.0.0", "older", "1.0.0: 2 facts are otherwise here, such as a.b:outcome, a.c:outcome; "),
        (
            "1.5.0",
            "newer",
            "1.5.0: not tried yet; what we rely on holds in 1.2.0 to 1.4.0; it held in each of the 2 ",
        ),
    ],
)
def test_a_version_is_told_by_what_the_records_say(version, state, words):
    check = common_checks._version("one", version, KNOWN)
    assert (check.ok, check.state) == (state == "verified", state)
    assert check.found.startswith(words)
    assert bool(check.next) is not check.ok


def test_a_recorded_version_in_the_range_that_does_not_hold_is_told():
    check = common_checks._version(
        "one", "1.3.0", Verified("1.2.0", "1.4.0", {**BROKEN, "1.3.0": ("a.b:x",)})
    )
    assert not check.ok
    assert "a.b:x" in check.found


def test_without_records_the_range_alone_is_said():
    check = common_checks._version("one", "2.0.0", Verified("1.2.0", "1.4.0"))
    assert check.found == "2.0.0: not tried yet; what we rely on holds in 1.2.0 to 1.4.0"

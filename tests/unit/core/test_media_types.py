from __future__ import annotations

import pytest

from anvil_core.media_types import essence, fits_json, is_json, is_text, kind_of, matches


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("application/json", "json"),
        ("Application/JSON; charset=utf-8", "json"),
        ("application/merge-patch+json", "json"),
        ("text/json", "json"),
        ("application/x-www-form-urlencoded", "form"),
        ("multipart/form-data; boundary=x", "multipart"),
        ("multipart/mixed", "other"),
        ("text/plain;charset=latin-1", "text"),
        ("text/xml", "text"),
        ("application/xml", "other_text"),
        ("application/soap+xml", "other_text"),
        ("text/html", "text"),
        ("application/octet-stream", "bytes"),
        ("image/png", "other"),
        ("application/jsonl", "other"),
        ("*/*", "other"),
        ("", "other"),
    ],
)
def test_how_content_is_written(media_type, kind):
    assert kind_of(media_type) == kind
    assert is_json(media_type) == (kind == "json")
    assert is_text(media_type) == (kind in {"text", "other_text"})


@pytest.mark.parametrize(
    ("media_type", "fits"),
    [("*/*", True), ("application/*", True), ("text/*", False), ("a/b+json", True), ("text/plain", False)],
)
def test_where_json_may_stand(media_type, fits):
    assert fits_json(media_type) == fits


@pytest.mark.parametrize(
    ("media_type", "pattern", "fits"),
    [
        ("image/png", "image/*", True),
        ("image/png", "*/*", True),
        ("Image/PNG", "image/png; q=1", True),
        ("image/png", "image/jpeg", False),
        ("imagex/png", "image/*", False),
    ],
)
def test_a_type_that_a_pattern_names(media_type, pattern, fits):
    assert matches(media_type, pattern) == fits


def test_the_essence_has_no_parameters_and_no_case():
    assert essence(" Text/Plain ; charset=utf-8") == "text/plain"

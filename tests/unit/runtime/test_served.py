"""What a client's own validator could stumble over is not served to it."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from anvil_runtime import served

PATTERNS = [
    ("^.*$", True),
    ("^[A-Za-z0-9-_.,]*$", True),
    ("^cus_[a-z0-9]+$", True),
    (r"^\d{4}-\d\d?$", True),
    ("^(?!x)(?:a|b)+?$", True),
    ("^[!-~]*$", True),
    ("a{2,3}", True),
    (r"[\d\-x]", False),
    (r"[\w-x]", False),
    ("a}", False),
    ("a{,3}", False),
    ("]", False),
    ("[[]", False),
    (r"\-", False),
    (r"\p{L}", False),
    ("(?i)a", False),
    ("(?P<n>a)", False),
    ("(" * 400, False),
    ("a" * 501, False),
    (7, False),
]


@pytest.mark.parametrize(("pattern", "portable"), PATTERNS)
def test_is_portable(pattern, portable):
    assert served.is_portable(pattern) is portable


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_what_is_called_portable_compiles_in_ecmascript_with_the_unicode_flag():
    patterns = [pattern for pattern, portable in PATTERNS if portable]
    script = "for (const p of JSON.parse(process.argv[1])) new RegExp(p, 'u')"
    subprocess.run(["node", "-e", script, json.dumps(patterns)], check=True)


def test_input_keeps_what_every_dialect_reads_and_the_names_of_the_api():
    schema = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^a$", "format": "date"},
            "format": {"type": "string", "pattern": "(?i)a", "format": "vendor_v2"},
        },
        "default": {"pattern": "("},
    }
    assert served.input_schema(schema) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^a$", "format": "date"},
            "format": {"type": "string"},
        },
        "default": {"pattern": "("},
    }


def test_output_has_no_pattern_and_no_format():
    schema = {
        "properties": {"data": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"type": "string", "pattern": "^a$", "format": "date", "minLength": 1}},
        "patternProperties": {"^x": {"type": "integer"}},
    }
    assert served.output_schema(schema) == {
        "properties": {"data": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"type": "string", "minLength": 1}},
    }

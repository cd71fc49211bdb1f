"""hookcore's JSON without the json module, and the digest that binds an approval to a call."""

# ruff: noqa: PT011  # a ValueError is all that is promised, whatever it says

from __future__ import annotations

import _json
import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import decisions

import hookcore

TOOL = "refund_payment"
VECTORS = decisions.table("digests.json")
numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.text())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=20,
)


def same(one, other):
    """Equal, and of equal types: True is not 1, and 1 is not 1.0."""
    return json.dumps(one) == json.dumps(other)


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@pytest.fixture
def no_fast_path(monkeypatch):
    """Both C helpers fail, in a way that nobody foresaw."""

    def broken(*_):
        raise SystemError("not today")

    monkeypatch.setattr(_json, "make_scanner", broken)
    monkeypatch.setattr(_json, "make_encoder", broken)


@given(values, st.sampled_from([None, 2]))
def test_loads_equals_json(value, indent):
    text = json.dumps(value, indent=indent)
    assert same(hookcore.loads(text), json.loads(text))
    assert same(hookcore.loads(json.dumps(value, ensure_ascii=False)), value)


@given(values)
def test_dumps_equals_json(value):
    assert hookcore.dumps(value) == compact(value)


@given(st.text(alphabet='{}[]:,"\\ \n\ttruefalsn0123.-eE', max_size=25))
def test_loads_refuses_what_json_refuses(text):
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            hookcore.loads(text)
    else:
        assert same(hookcore.loads(text), wanted)


REFUSED = [
    "",
    " ",
    "NaN",
    "Infinity",
    "-Infinity",
    "[NaN]",
    '{"a": -Infinity}',
    "{} {}",
    "{}x",
    "[1,]",
    "{'a': 1}",
]
REFUSED += ["\ufeff{}", '"\n"', '{"a" 1}', "01", "nul", "{", '"', "\x00{}", "{}\x00", "\u00a0{}"]


@pytest.mark.parametrize("text", REFUSED)
def test_loads_refuses(text):
    with pytest.raises(ValueError):
        hookcore.loads(text)


@pytest.mark.parametrize("text", REFUSED)
def test_loads_refuses_on_the_slow_way_too(text, no_fast_path):
    with pytest.raises(ValueError):
        hookcore.loads(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], {"a": math.inf}])
def test_dumps_refuses_what_is_not_json(value):
    with pytest.raises(ValueError):
        hookcore.dumps(value)


def test_dumps_refuses_a_circle():
    circle = []
    circle.append(circle)
    with pytest.raises((ValueError, RecursionError)):
        hookcore.dumps(circle)


def test_the_last_of_duplicate_keys_wins():
    assert hookcore.loads('{"a": 1, "a": 2}') == {"a": 2}


def test_the_slow_way_gives_the_same(no_fast_path):
    value = {"b": [1, 2.5, "é😀", None, True], "a": {"z": {}, "y": []}}
    assert hookcore.loads(json.dumps(value)) == value
    assert hookcore.dumps(value) == compact(value)
    assert hookcore.loads('{"a": 1, "a": 2}') == {"a": 2}


def test_json_is_loaded_only_on_the_slow_way():
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import hookcore
hookcore.loads('{"a": [1, 2.5, "x", null, true]}')
hookcore.dumps({"b": 1, "a": [2.5, None, True, "\\u00e9"]})
usual = sorted({"json", "re", "enum"} & set(sys.modules))
import _json
_json.make_scanner = None
hookcore.loads("[]")
print(usual, "json" in sys.modules)
"""
    folder = str(Path(hookcore.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", program, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] True\n"


# Digests


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_digest_vectors(vector):
    value = hookcore.loads(vector["json"])
    assert hookcore.dumps(hookcore.canonical(value)) == vector["canonical"]
    assert hookcore.digest(TOOL, value) == vector["sha256"]
    bound = f"{TOOL}\n{vector['canonical']}"
    assert vector["sha256"] == hashlib.sha256(bound.encode("ascii")).hexdigest()


@pytest.mark.parametrize("refused", VECTORS["refused"], ids=lambda refused: refused["name"])
def test_digest_refuses(refused):
    with pytest.raises(ValueError):
        hookcore.digest(TOOL, hookcore.loads(refused["json"]))


NO_JSON = [math.nan, math.inf, -math.inf, {1: "x"}, {"a": b"x"}, {"a": {1, 2}}, {"a": (1,)}]


@pytest.mark.parametrize("value", NO_JSON)
def test_canonical_refuses_what_no_json_text_gives(value):
    with pytest.raises(ValueError, match=r"not canonical|is not JSON"):
        hookcore.canonical(value)


def test_different_arguments_have_different_digests():
    groups = {}
    for vector in VECTORS["vectors"]:
        groups.setdefault(vector["canonical"], set()).add(vector["sha256"])
    assert all(len(group) == 1 for group in groups.values())
    assert len({next(iter(group)) for group in groups.values()}) == len(groups)


@given(values)
def test_canonical_is_stable(value):
    """The canonical text, read back, is canonical already: a harness may read and write it."""
    try:
        text = hookcore.dumps(hookcore.canonical(value))
    except ValueError:
        return
    assert hookcore.dumps(hookcore.canonical(hookcore.loads(text))) == text


@given(st.dictionaries(st.text(max_size=4), st.integers(-5, 5), max_size=6), st.randoms())
def test_digest_does_not_depend_on_order(value, random):
    pairs = list(value.items())
    random.shuffle(pairs)
    try:
        assert hookcore.digest(TOOL, dict(pairs)) == hookcore.digest(TOOL, value)
    except ValueError:
        assert any("\ud800" <= c <= "\udfff" for key in value for c in key)

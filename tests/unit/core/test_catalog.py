"""The catalog's bytes."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.air import make_air, make_operation, make_refund

from anvil_core import catalog
from anvil_core.air import Confirmation, Controls, KeyForm

EXACT = (
    '{"anvil": 1, "service": {"id": "shop", "title": "Shop API", "version": "1.2.3", '
    '"origin": "https://api.shop.example", "base_path": "/v1"}, "contract_digest": "DIGEST", '
    '"prefixes": {"claude": ["mcp__x__"], "codex": ["mcp__a__", "mcp__b__"]}, "preview": "preview", '
    '"operations": [\n'
    '{"tool": "get_item", "id": "shop.items.get_item", "state": "approved", "deprecated": false, '
    '"effect": "read", "risk": "none", "reversible": null, '
    '"idempotency": {"mode": "natural", "argument": null, "form": null}, '
    '"confirmation": {"required": false, "argument": null, "reason": "", "human_approval": false}, '
    '"dry_run_argument": null, "title": "get\\u2028\\"item\\"\\n"},\n'
    '{"tool": "refund_payment", "id": "shop.items.refund_payment", "state": "approved", "deprecated": false, '
    '"effect": "mutation", "risk": "financial", "reversible": null, "idempotency": {"mode": "required", '
    '"argument": "idempotency_key", "form": {"format": "token", "min_length": 1, "max_length": 255}}, '
    '"confirmation": {"required": true, "argument": "confirm", "reason": "It moves money.", '
    '"human_approval": false}, "dry_run_argument": "dry_run", "title": "refund_payment"}\n'
    "]}\n"
)


@pytest.mark.invariant("I8")
def test_the_exact_bytes():
    """A change here is a change of the format that every copied hook reads: a new number in "anvil"."""
    air = make_air(make_refund(), make_operation("get_item", title='get\u2028"item"\n'), preview="preview")
    digest = hashlib.sha256(b"\n".join(catalog.lines(air))).hexdigest()
    data = catalog.write(air, {"codex": ["mcp__a__", "mcp__b__"], "claude": ["mcp__x__"]})
    assert data.decode("ascii") == EXACT.replace("DIGEST", digest)


def test_without_operations():
    data = catalog.write(make_air(), {})
    assert data.endswith(b'"preview": null, "operations": [\n]}\n')
    assert json.loads(data)["operations"] == []
    assert json.loads(data)["contract_digest"] == hashlib.sha256(b"").hexdigest()


titles = st.text(max_size=30)
names = st.from_regex(r"\A[a-z][a-z0-9]{0,4}(_[a-z0-9]{1,3}){0,2}\Z")


@given(st.dictionaries(names, titles, max_size=12))
def test_valid_json_one_operation_per_line_sorted(found):
    air = make_air(*(make_operation(name, title=title) for name, title in found.items()))
    data = catalog.write(air, {"claude": ["x"]})
    whole = json.loads(data)
    assert [entry["tool"] for entry in whole["operations"]] == sorted(found)
    assert {entry["tool"]: entry["title"] for entry in whole["operations"]} == found
    lines = data.split(b"\n")
    assert len(lines) == len(found) + 3
    assert [json.loads(line.rstrip(b",")) for line in lines[1:-2]] == whole["operations"]
    assert sorted(lines[1:-2], key=lambda line: line.split(b'"')[3]) == lines[1:-2]


@pytest.mark.invariant("I8")
@given(st.permutations(["a_b", "a", "ab", "a_a", "b"]))
def test_the_order_of_operations_does_not_matter(order):
    air = make_air(*(make_operation(name) for name in sorted(order)))
    shuffled = air.model_copy(update={"operations": tuple(make_operation(name) for name in order)})
    assert catalog.write(shuffled, {}) == catalog.write(air, {})


@pytest.mark.invariant("I7")
def test_the_names_of_control_arguments_come_from_air():
    controls = Controls(
        confirm="anvil_confirm", idempotency_key="anvil_idempotency_key", dry_run="anvil_dry_run"
    )
    entry = catalog.entry(make_refund(controls=controls))
    assert entry["confirmation"]["argument"] == "anvil_confirm"
    assert entry["idempotency"]["argument"] == "anvil_idempotency_key"
    assert entry["dry_run_argument"] == "anvil_dry_run"


CHANGES = [
    {"state": "blocked"},
    {"deprecated": True},
    {"title": "Other"},
    {"id": "shop.items.other"},
    {"confirmation": Confirmation(required=True, reason="Another reason.")},
    {"confirmation": Confirmation(required=True, reason="It moves money.", human_approval=True)},
    {"controls": Controls(confirm="confirm", idempotency_key="idempotency_key")},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_the_digest_covers_each_line(change):
    one, other = make_air(make_refund()), make_air(make_refund(**change))
    assert catalog.contract_digest(catalog.lines(one)) != catalog.contract_digest(catalog.lines(other))


def test_the_digest_does_not_cover_the_header():
    one, other = make_air(make_refund()), make_air(make_refund(), preview="preview", service_id="other")
    digests = {json.loads(catalog.write(air, {}))["contract_digest"] for air in (one, other)}
    assert len(digests) == 1


def test_every_state_is_listed():
    """Not only what is approved: the hook says why another one is refused."""
    states = ("generated", "review_required", "approved", "blocked")
    air = make_air(*(make_operation(f"op_{state}", state=state) for state in states))
    assert {entry["state"] for entry in json.loads(catalog.write(air, {}))["operations"]} == set(states)


@pytest.mark.parametrize("mode", ["natural", "key_supported", "required", "none"])
def test_how_an_operation_is_repeated(mode):
    refund = make_refund()
    changed = refund.model_copy(update={"idempotency": refund.idempotency.model_copy(update={"mode": mode})})
    assert catalog.entry(changed)["idempotency"]["mode"] == mode


def test_the_form_of_a_key():
    refund = make_refund()
    form = KeyForm(format="uuid", min_length=36, max_length=36)
    changed = refund.model_copy(update={"idempotency": refund.idempotency.model_copy(update={"form": form})})
    assert catalog.entry(changed)["idempotency"]["form"] == {
        "format": "uuid",
        "min_length": 36,
        "max_length": 36,
    }

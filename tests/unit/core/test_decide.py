"""hookcore.decide and evaluate, over the tables of tests/cases."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from support import decisions

import hookcore

KNOWN = decisions.entries()
DECIDE = decisions.table("decide.json")["cases"]
EVALUATE = decisions.table("evaluate.json")["cases"]
DECIDED_HERE = {
    "unknown_operation",
    "operation_not_approved",
    "invalid_arguments",
    "confirmation_required",
    "human_approval_required",
    "idempotency_key_required",
    "idempotency_key_malformed",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalog") / "catalog.json"
    path.write_bytes(decisions.catalog_bytes(KNOWN.values(), preview="preview"))
    return str(path)


@pytest.mark.parametrize("case", DECIDE, ids=lambda case: case["name"])
@pytest.mark.invariant("I7")
def test_decide(case):
    assert decisions.differences(decisions.decide_case(hookcore, case, KNOWN), case) == []


@pytest.mark.parametrize("case", EVALUATE, ids=lambda case: case["name"])
def test_evaluate(case, catalog):
    decision = hookcore.evaluate(catalog, case["tool"], case["args"], decisions.NOBODY)
    assert decisions.differences(decision, case) == []


@pytest.mark.parametrize("case", [case for case in DECIDE if case["entry"]], ids=lambda case: case["name"])
def test_evaluate_agrees_with_decide(case, catalog):
    """The way through the file changes nothing but the preview that is offered."""
    surface = case.get("surface", decisions.NOBODY)
    decision = hookcore.evaluate(catalog, case["entry"], case["args"], surface)
    wanted = decisions.decide_case(hookcore, {**case, "preview": "preview"}, KNOWN)
    assert (decision.verb, decision.code, decision.reason, decision.required, decision.context) == (
        wanted.verb,
        wanted.code,
        wanted.reason,
        wanted.required,
        wanted.context,
    )


def test_the_cases_reach_every_code_that_decide_gives():
    assert {case["code"] for case in DECIDE if case["verb"] == "deny"} == DECIDED_HERE


@pytest.mark.invariant("I4")
def test_a_required_key_without_an_argument_never_passes():
    """Such an entry is no compiler's work: no decision is right, but none may be a pass."""
    broken = json.loads(json.dumps(KNOWN["charge"]))
    broken["idempotency"].update(argument=None, form=None)
    with pytest.raises(TypeError):
        hookcore.decide(broken, {}, decisions.NOBODY)


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "field", ["confirmation", "idempotency", "dry_run_argument", "effect", "risk", "state"]
)
def test_an_entry_without_a_field_never_passes(field):
    broken = {key: value for key, value in KNOWN["refund"].items() if key != field}
    with pytest.raises(KeyError):
        hookcore.decide(broken, {"confirm": True, "idempotency_key": "order-4711"}, decisions.NOBODY)


@pytest.mark.parametrize("code", sorted(hookcore.REFUSALS))
def test_each_text_names_the_tool_and_fills_in_all_it_needs(code):
    parts = {"state": "blocked", "needs": "- x", "how": "Ask.", "detail": "Details."}
    text = hookcore.refusal(code, "refund_payment", **parts)
    assert "refund_payment" in text
    assert "{" not in text


def test_each_lacking_argument_has_an_example_of_its_own_type():
    types = {"boolean": bool, "object": dict, "string": str, "none": type(None)}
    for case in DECIDE:
        for one in decisions.decide_case(hookcore, case, KNOWN).required:
            assert set(one) == {"code", "argument", "type", "problem", "example"}
            assert isinstance(one["example"], types[re.match("[a-z]+", one["type"]).group()])
            assert one["code"] in DECIDED_HERE


@pytest.mark.parametrize(
    ("dry_run", "preview", "way"),
    [
        ("dry_run", "preview", "call it again with dry_run: true (boolean)."),
        ("anvil_dry_run", None, "call it again with anvil_dry_run: true (boolean)."),
        (None, "look", "call look."),
    ],
)
def test_the_way_to_see_a_request_first(dry_run, preview, way):
    line = hookcore.look_first(dry_run, preview)
    assert line == f"To see the exact request without sending it: {way}"


def test_no_way_to_see_a_request_first():
    assert hookcore.look_first(None, None) is None


@pytest.mark.parametrize("tool", [name for name, entry in KNOWN.items() if entry["idempotency"]["form"]])
def test_the_example_of_a_key_is_a_key(tool):
    form = KNOWN[tool]["idempotency"]["form"]
    _, example = hookcore.describe_key(form)
    assert hookcore.key_problem(example, form) is None


def test_no_annotation_or_later_syntax_than_python_3_9():
    """The other interpreters run in ``nox -s hookcore-<py>``; this finds new syntax on any of them."""
    source = Path(hookcore.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 9))
    assert "match " not in source.split()

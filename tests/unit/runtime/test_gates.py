"""The safety gates one by one, and against the decision core that hooks run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hookcore
from anvil_core.catalog import entry
from anvil_runtime.execute import execute
from anvil_runtime.gates import safety_gates

CONFIRM, KEY = {"confirm": True}, {"idempotency_key": "key-0001"}


@pytest.mark.parametrize(
    ("args", "code", "required"),
    [
        ({}, "confirmation_required", ["confirm", "idempotency_key"]),
        (CONFIRM, "idempotency_key_required", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": None}, "idempotency_key_required", ["idempotency_key"]),
        (KEY, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": "true"}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": "yes"}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": 1}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": 1.0}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": [True]}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": False}, "confirmation_required", ["confirm"]),
        ({**KEY, "confirm": None}, "confirmation_required", ["confirm"]),
        ({**CONFIRM, "idempotency_key": "short"}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": "x" * 41}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": "key 00001"}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": "key-0001\n"}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": "kéy-00001"}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, "idempotency_key": 12345678}, "idempotency_key_malformed", ["idempotency_key"]),
        ({**CONFIRM, **KEY, "dry_run": "true"}, "invalid_arguments", ["dry_run"]),
        ({**CONFIRM, **KEY, "dry_run": 1}, "invalid_arguments", ["dry_run"]),
        ({"dry_run": "yes"}, "invalid_arguments", ["dry_run", "confirm", "idempotency_key"]),
        ([], "invalid_arguments", ["(all)"]),
        ("confirm", "invalid_arguments", ["(all)"]),
    ],
)
def test_what_is_refused_and_what_it_names(operation, args, code, required):
    refused = safety_gates(operation(), args)
    assert refused is not None
    assert (refused.code, [need["argument"] for need in refused.required]) == (code, required)
    assert all(name in refused.message for name in required)


@pytest.mark.parametrize(
    "args",
    [
        {**CONFIRM, **KEY},
        {**CONFIRM, **KEY, "dry_run": False},
        {"dry_run": True},
        {"dry_run": True, "confirm": "x"},
    ],
)
def test_what_passes(operation, args):
    assert safety_gates(operation(), args) is None


def test_the_text_asks_for_the_boolean_and_offers_a_look(operation):
    refused = safety_gates(operation(), {**KEY, "confirm": "yes"})
    assert 'must be the boolean true, not the string "yes"' in refused.message
    assert "Money leaves the account." in refused.message
    assert "dry_run: true (boolean)" in refused.message


@pytest.mark.parametrize("state", ["generated", "review_required", "blocked"])
def test_only_an_approved_operation_passes(operation, state):
    refused = safety_gates(operation(state=state), {**CONFIRM, **KEY, "dry_run": True})
    assert refused.code == "operation_not_approved"
    assert state in refused.message


@pytest.mark.invariant("I3")
@pytest.mark.parametrize(
    "args", [KEY, {**KEY, "confirm": True}, {**KEY, "dry_run": True}, {**KEY, "approved": True}]
)
def test_no_argument_is_a_persons_approval(operation, args):
    assert safety_gates(operation("payout_create"), args).code == "human_approval_required"


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TEMPTING = st.sampled_from(["confirm", "dry_run", "approved", "approval", "approval_note", "human_approval"])


def is_canonical(tool, args):
    try:
        hookcore.digest(tool, args)
    except ValueError:
        return False
    return True


@pytest.mark.invariant("I3")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(args=ANY_JSON | st.dictionaries(TEMPTING | st.text(), ANY_JSON | st.just(value=True), max_size=6))
def test_neither_ring_passes_a_call_that_needs_a_person_whatever_its_arguments(operation, args):
    one = operation("payout_create")
    if isinstance(args, dict):
        args = {**args, **KEY}
    code = "human_approval_required" if isinstance(args, dict) else "invalid_arguments"
    if isinstance(args, dict) and not is_canonical(one.name, args):
        code = "arguments_not_canonical"
    assert safety_gates(one, args).code == code
    noted = isinstance(args, dict) and hookcore.NOTE in args
    for human in (False, True):
        decision = hookcore.decide(entry(one), args, {"human": human})
        asks = human and not noted and code == "human_approval_required"
        verb = hookcore.ASK if asks else hookcore.DENY
        assert (decision.verb, decision.code) == (verb, "invalid_arguments" if noted else code)


def test_a_person_is_the_last_gate(operation):
    assert safety_gates(operation("payout_create"), {}).code == "idempotency_key_required"


FITS = {"charge": "ch_1", "body": {"amount": 5}}


@pytest.mark.parametrize("name", ["refund_create", "payout_create", "charge_scrub", "charge_get"])
@pytest.mark.parametrize(
    "control",
    [{}, CONFIRM, KEY, {**CONFIRM, **KEY}, {"dry_run": "yes"}, {**CONFIRM, **KEY, "dry_run": 1}],
)
def test_the_executor_says_of_a_call_that_fits_what_the_safety_gates_say(executor, name, control):
    one = executor()
    operation = one.bundle.by_name[name]
    fits = FITS if operation.input.body else {"charge": "ch_1"}
    if name != "refund_create":  # the others have no such arguments, so a schema would refuse them first
        control = {key: value for key, value in control.items() if key == operation.controls.idempotency_key}
    mine = safety_gates(operation, {**fits, **control}, "preview")
    whole = execute(one, name, {**fits, **control}).refusal
    assert (mine and mine.code) == (whole and whole.code)
    if mine and mine.code != "human_approval_required":  # the executor also says how a person can run it
        assert mine.message == whole.message


@pytest.mark.parametrize(("length", "fits"), [(7, False), (8, True), (36, True), (37, False)])
def test_the_length_of_a_key(operation, length, fits):
    form = {"format": "token", "min_length": 8, "max_length": 36}
    one = operation(idempotency={"mode": "required", "carrier": "header", "key": "Id", "form": form})
    refused = safety_gates(one, {**CONFIRM, "idempotency_key": "k" * length})
    assert (refused and refused.code) == (None if fits else "idempotency_key_malformed")


def test_a_uuid_key(operation):
    form = {
        "mode": "required",
        "carrier": "header",
        "key": "Id",
        "form": {"format": "uuid", "max_length": 40},
    }
    uuid = operation(idempotency=form)
    good = "3F0E7C52-9b1d-4c53-8a44-5d1b6a0f2e11"
    assert safety_gates(uuid, {**CONFIRM, "idempotency_key": good}) is None
    for bad in (
        good[:-1],
        good.replace("-", ""),
        good.replace("3F", "3G"),
        good + "\n",
        good + "-1",
        "1-" + good,
        good.replace("1", "\u0661"),
    ):
        assert safety_gates(uuid, {**CONFIRM, "idempotency_key": bad}).code == "idempotency_key_malformed"


def test_a_supported_key_may_be_left_out_but_not_be_wrong(operation):
    form = {"mode": "key_supported", "carrier": "header", "key": "Id", "form": {"min_length": 8}}
    supported = operation(idempotency=form)
    assert safety_gates(supported, CONFIRM) is None
    assert safety_gates(supported, {**CONFIRM, "idempotency_key": "x"}).code == "idempotency_key_malformed"


CONTROL = st.one_of(
    st.just("absent"),
    st.sampled_from(
        [True, False, None, 1, 0, 1.0, "true", "yes", [], {}, "key-0001", "x" * 40, "x" * 41, "a b c d e f"]
    ),
    st.text(max_size=12),
    st.text("0123456789abcdef-", min_size=36, max_size=36),
)
CHANGES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["approved", "approved", "approved", "blocked"]),
        "confirmation": st.sampled_from(
            [
                {"required": True, "reason": "R."},
                {"required": False},
                {"required": True, "human_approval": True},
            ]
        ),
        "idempotency": st.sampled_from(
            [
                {"mode": "none"},
                {"mode": "natural"},
                {
                    "mode": "required",
                    "carrier": "header",
                    "key": "K",
                    "form": {"min_length": 3, "max_length": 40},
                },
                {"mode": "key_supported", "carrier": "query", "key": "K", "form": {"format": "uuid"}},
            ]
        ),
    }
)


def without_code(need: dict) -> dict:
    return {name: value for name, value in need.items() if name != "code"}


@pytest.mark.invariant("I2")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=CHANGES, confirm=CONTROL, key=CONTROL, dry_run=CONTROL)
def test_both_rings_say_the_same_in_the_same_words(operation, changes, confirm, key, dry_run):
    human = changes["confirmation"].get("human_approval", False)
    controls = {
        "confirm": "confirm" if changes["confirmation"]["required"] and not human else None,
        "idempotency_key": "idempotency_key" if "form" in changes["idempotency"] else None,
        "dry_run": None if human else "dry_run",
    }
    one = operation(**changes, controls=controls)
    given_ = {"confirm": confirm, "idempotency_key": key, "dry_run": dry_run}
    args = {name: value for name, value in given_.items() if value != "absent"}
    mine = safety_gates(one, args, preview="preview")
    hooks = hookcore.decide(entry(one), args, {"human": False}, preview="preview")
    assert (mine.code if mine else None) == hooks.code
    assert [without_code(need) for need in (mine.required if mine else ())] == [
        without_code(need) for need in hooks.required
    ]
    assert (mine.message if mine else None) == hooks.reason

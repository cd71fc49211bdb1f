"""I2: on the same bundle and input, the hook of the bundle and the executor refuse the same calls.

Here 200 calls for each example through real hook processes; ``nox -s property`` goes on where this ends.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from agreement.agreement_rings import (
    EXAMPLES,
    disagreements,
    hook_answers,
    hooks_of,
    in_process,
    says_what_the_core_decides,
)

import hookcore
from anvil_generator import harnesses
from anvil_generator.conformance.bundle_rings import Api
from anvil_generator.conformance.generated_calls import calls, tools_of
from anvil_runtime import gates
from anvil_runtime.bundle import load
from anvil_runtime.client import Answer
from anvil_runtime.execute import Executor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.invariant("I2"), pytest.mark.timeout(300)]
SEED, COUNT, LEAST_SHARE = 20261130, 200, 0.15
HARNESSES = tuple(harness.id for harness in harnesses.known() if "conformance" in harness.contract)
HERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as made:
        yield made


def make(bundles: dict[str, Path], name: str) -> tuple[Path, Executor, list[dict[str, Any]], list[str]]:
    """A bundle, its executor, 200 calls, and what the executor sends, which goes no further."""
    folder, reached = bundles[name], []

    def send(plan: Any, _origin: Any) -> Answer:
        reached.append(plan.url)
        return Answer(200, "OK", "application/json", b"{}")

    loaded = load(folder)
    made = calls(tools_of(folder), loaded.air.preview, SEED, COUNT)
    return folder, Executor(loaded, environ={"ANVIL_BASE_URL": HERE}, send=send), made, reached


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_hook_process_and_executor_agree_on_generated_calls(name, harness, bundles, api, capsys, tmp_path):
    folder, executor, made, _ = make(bundles, name)
    executor = Executor(executor.bundle, environ={"ANVIL_BASE_URL": api.url})
    api.reached.clear()
    answers = hook_answers(hooks_of(folder, tmp_path)[harness], made)
    denied = [verb is not None for verb, _ in answers]
    assert disagreements(executor, made, denied, api.reached) == []

    codes = Counter(in_process(folder, call).code or "pass" for call in made)
    share = sum(denied) / len(made)
    with capsys.disabled():
        print(
            f"\n{name}, {harness}: {share:.0%} of {len(made)} denied, {len(api.reached)} sent; "
            f"{sorted(codes.items())}"
        )
    assert min(share, 1 - share) >= LEAST_SHARE
    assert len(api.reached) >= 0.15 * len(made), "too few calls were whole: the comparison would say little"


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_hook_process_says_what_the_core_decides(name, harness, bundles, tmp_path):
    """So that a larger run in process speaks for the process too."""
    folder = bundles[name]
    made = calls(tools_of(folder), load(folder).air.preview, SEED + 1, 40)
    answers = hook_answers(hooks_of(folder, tmp_path)[harness], made)
    for call, (verb, reason) in zip(made, answers, strict=True):
        assert says_what_the_core_decides(in_process(folder, call), verb, reason)


def test_the_same_seed_gives_the_same_calls_and_another_gives_others(bundles):
    tools = tools_of(bundles["payments"])
    assert calls(tools, "preview", 1, 50) == calls(tools, "preview", 1, 50)
    assert calls(tools, "preview", 1, 50) != calls(tools, "preview", 2, 50)


def test_the_calls_are_plain_data_and_of_every_kind(bundles):
    made = calls(tools_of(bundles["payments"]), "preview", SEED, 2000)
    assert json.loads(json.dumps(made)) == made
    kinds = {call["kind"].rpartition(":")[2] for call in made}
    assert kinds >= {
        "whole", "bare", "no_confirm", "bad_confirm", "no_key", "bad_key", "dry_run", "dry_run_bare",
        "bad_dry_run", "unknown_tool", "unknown_argument", "not_an_object", "preview", "bad_operation",
    }  # fmt: skip


def test_every_code_of_the_core_is_reached(bundles):
    codes = Counter()
    for name in EXAMPLES:
        folder = bundles[name]
        for call in calls(tools_of(folder), load(folder).air.preview, SEED, 1500):
            codes[in_process(folder, call).code] += 1
    wanted = {
        None, "unknown_operation", "operation_not_approved", "invalid_arguments", "confirmation_required",
        "human_approval_required", "idempotency_key_required", "idempotency_key_malformed",
    }  # fmt: skip
    assert {code: codes[code] for code in wanted if codes[code] < 20} == {}


MUTANTS = {
    "confirmation is not asked": ("confirmation_fault", lambda _operation, _args: None),
    "any text is a key": ("key_fits", lambda key, _form: isinstance(key, str)),
    "state is not looked at": ("state_gate", lambda _operation: None),
    "no human approval": ("human_gate", lambda _operation: None),
    "dry run by anything": (
        "is_dry_run",
        lambda operation, args: bool(operation.controls.dry_run and args.get(operation.controls.dry_run)),
    ),
    "no key is missed": ("key_fault", lambda _operation, _args: None),
    "confirmation always asked": ("confirmation_fault", lambda _operation, _args: "confirmation_required"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_gate_that_is_wrong_is_noticed(mutant, bundles, monkeypatch):
    """The comparison can fail: each of these changes of one gate of the executor is a disagreement."""
    folder, executor, made, reached = make(bundles, "payments")
    denied = [in_process(folder, call).verb == hookcore.DENY for call in made]
    assert disagreements(executor, made, denied, reached) == []
    monkeypatch.setattr(gates, *MUTANTS[mutant])
    assert disagreements(executor, made, denied, reached)


def test_a_core_that_is_wrong_is_noticed(bundles, monkeypatch):
    """And the other way: a decision core that misses a key."""
    folder, executor, made, reached = make(bundles, "payments")
    monkeypatch.setattr(hookcore, "key_problem", lambda _value, _form: None)
    denied = [in_process(folder, call).verb == hookcore.DENY for call in made]
    assert disagreements(executor, made, denied, reached)

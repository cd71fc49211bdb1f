"""I3: nothing that a model controls reaches the API for an operation that a person must approve.

A state machine makes calls in any order, as any client, with any arguments; then, each by name, what a
process with the user's own rights can forge: these do reach it, as docs/explanation/human-approval.md says.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from unit.runtime.conftest import CLIENT, OPERATIONS, make_air

import hookcore
from anvil_core.clients import Clients
from anvil_runtime import human
from anvil_runtime.bundle import Bundle
from anvil_runtime.caller import COMMAND_LINE, Caller, Reply
from anvil_runtime.client import Answer
from anvil_runtime.execute import Executor, execute
from anvil_runtime.state import StateFolder
from anvil_runtime.words import approval_note, argument_digest

pytestmark = pytest.mark.invariant("I3")
TOOL = "payout_create"
GUARDED = {**CLIENT, "proof": "tool_meta", "tool_meta": {"careful/ask": True}}
ASKING = {**CLIENT, "harness": "asking", "name": "asking-cli", "proof": "form"}
ARGS = {"charge": "ch_1", "body": {"amount": 5}, "idempotency_key": "key-0001"}
TEMPTING = st.sampled_from(
    ["confirm", "dry_run", "approval_note", "approved", "human_approval", "code", "idempotency_key", "note"]
)
VALUES = st.one_of(st.booleans(), st.none(), st.text(max_size=12), st.integers(), st.just("yes"))
NAMES = st.sampled_from([None, GUARDED["name"], ASKING["name"], "anybody"])
VERSIONS = st.sampled_from([None, "0", "2.1.121", "99.0.0", "not a version"])
EXTRA = st.dictionaries(TEMPTING, VALUES, max_size=4)
REPLIES = st.sampled_from(["decline", "cancel", "unanswered", "accept"])


def executor(folder, sent: list) -> Executor:
    def send(plan, _origin):
        sent.append(plan)
        return Answer(200, "OK", "application/json", b"{}")

    bundle = Bundle(make_air(OPERATIONS), clients=Clients.model_validate({"clients": [GUARDED, ASKING]}))
    return Executor(bundle, environ={}, send=send, state=StateFolder(str(folder)))


class Model(RuleBasedStateMachine):
    """Whoever has the tools and the command line, and no person and no program of their own."""

    folder = None
    numbers = iter(range(10**9))

    def __init__(self) -> None:
        super().__init__()
        self.sent: list = []
        self.one = executor(self.folder / str(next(self.numbers)), self.sent)
        self.made: list[tuple[dict, Caller]] = []

    def call(self, args: dict, caller: Caller) -> None:
        self.made.append((args, caller))
        outcome = execute(self.one, TOOL, args, caller)
        assert outcome.refusal is not None

    @rule(
        extra=st.dictionaries(TEMPTING, VALUES, max_size=4),
        name=NAMES,
        version=VERSIONS,
        call_id=st.text(max_size=6),
    )
    def by_mcp(self, extra, name, version, call_id):
        self.call({**ARGS, **extra}, Caller("mcp", name, version, call_id or None))

    @rule(extra=st.dictionaries(TEMPTING, VALUES, max_size=4))
    def by_the_command_line(self, extra):
        self.call({**ARGS, **extra}, COMMAND_LINE)

    @rule(name=NAMES, version=VERSIONS, action=REPLIES, content=st.dictionaries(TEMPTING, VALUES, max_size=2))
    def with_a_form_that_no_person_sees(self, name, version, action, content):
        """A client that answers by itself, without reading the code."""
        ask = lambda question: Reply(action, content, question)  # noqa: E731
        self.call(ARGS, Caller("mcp", name, version, "id", ask=ask))

    @rule()
    def once_more(self):
        if self.made:
            self.call(*self.made[-1])

    @rule()
    def many_at_once(self):
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda _: self.call(ARGS, Caller("mcp", GUARDED["name"], "99.0.0", "same")), range(4)
                )
            )

    @rule()
    def by_the_preview(self):
        outcome = execute(self.one, "preview", {"operation": TOOL, "arguments": ARGS}, Caller("mcp"))
        assert outcome.refusal is None

    @invariant()
    def nothing_is_sent(self):
        assert self.sent == []


@pytest.mark.timeout(240)
def test_no_order_of_a_models_actions_reaches_the_api(tmp_path):
    Model.folder = tmp_path
    run_state_machine_as_test(
        Model,
        settings=settings(
            max_examples=60, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


# What a process with the user's own rights can forge: the stated limit of I3.


@pytest.fixture
def forged(tmp_path):
    sent: list = []
    return executor(tmp_path / "kept", sent), sent


def record(one: Executor, call_id: str) -> dict:
    operation = one.bundle.by_name[TOOL]
    digest = argument_digest(operation, ARGS)
    return {
        **human.about(one, operation), "call_id": call_id, "digest": digest,
        "note": approval_note(operation), "time": time.time(),
    }  # fmt: skip


def test_forgery_a_record_written_by_hand_and_a_server_started_by_hand(forged):
    """A shell that writes the guard's record and then speaks MCP itself, as the harness would."""
    one, sent = forged
    operation = one.bundle.by_name[TOOL]
    hookcore.leave(one.folder.name, "approvals", hookcore.sha256("forged"), record(one, "forged"))
    args = {**ARGS, hookcore.NOTE: approval_note(operation)}
    outcome = execute(one, TOOL, args, Caller("mcp", GUARDED["name"], "99.0.0", "forged"))
    assert (outcome.refusal, len(sent)) == (None, 1)


def test_forgery_a_form_answered_by_a_program_that_reads_it(tmp_path):
    """A client that claims to show forms to a person, and types the code itself."""
    sent: list = []
    one = executor(tmp_path / "kept", sent)

    def answers(question):
        return Reply("accept", {"code": question.expected}, question)

    outcome = execute(one, TOOL, ARGS, Caller("mcp", ASKING["name"], "99.0.0", "id", ask=answers))
    assert (outcome.refusal, len(sent)) == (None, 1)


def test_a_used_record_is_no_forgery_any_more(forged):
    """The control: the same record does not serve twice, nor another call."""
    one, sent = forged
    operation = one.bundle.by_name[TOOL]
    args = {**ARGS, hookcore.NOTE: approval_note(operation)}
    caller = Caller("mcp", GUARDED["name"], "99.0.0", "forged")
    hookcore.leave(one.folder.name, "approvals", hookcore.sha256("forged"), record(one, "forged"))
    execute(one, TOOL, args, caller)
    other = {**args, "idempotency_key": "key-0002"}
    assert execute(one, TOOL, other, caller).refusal.code == "human_approval_required"
    hookcore.leave(one.folder.name, "approvals", hookcore.sha256("forged"), record(one, "forged"))
    changed = {**other, "body": {"amount": 5000}}
    assert execute(one, TOOL, changed, caller).refusal.code == "human_approval_required"
    assert len(sent) == 1

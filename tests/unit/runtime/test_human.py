"""Who approves a call, by what is known of the client, and what every way of not having it is called."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

import hookcore
from anvil_core import catalog
from anvil_core.clients import Client, Clients, Unattended
from anvil_runtime import human
from anvil_runtime.caller import Caller, Reply
from anvil_runtime.execute import execute
from anvil_runtime.state import StateFolder
from anvil_runtime.words import approval_note

pytestmark = pytest.mark.invariant("I3")
KEY = {"idempotency_key": "key-00001"}
TOOL = "payout_create"
DIALOG = Client(
    harness="d", title="D", name="dialog", minimum="2.0.0", call_id=("d/call",), proof="tool_meta",
    tool_meta={"d/ask": True}, no_record="Switch the hooks on.",
)  # fmt: skip
SIGN = Unattended(meta="turn", field="trigger", values=("exec",))
FORM = Client(
    harness="f", title="F", name="form", minimum="1.0.0", proof="form", decline="not_asked",
    cancel="not_approved", unattended=(SIGN,),
)  # fmt: skip
PLAIN = Client(harness="p", title="P", name="plain", minimum="1.0.0", decline="person", cancel="unknown")
CALL = Caller("mcp", "dialog", "2.1.0", "call-1")


@pytest.fixture
def ready(executor, full, tmp_path):
    """A function: an executor with the three clients, and the arguments of a call that needs a person."""

    def make(policy="listed", name=TOOL, **changes):
        one = executor(name, service={"approval_elicitation": policy}, **changes)
        bundle = replace(one.bundle, clients=Clients(clients=(DIALOG, FORM, PLAIN)))
        return replace(one, bundle=bundle, state=StateFolder(str(tmp_path / "state")))

    del full["confirm"]
    return make, full


def note(one):
    return approval_note(one.bundle.by_name[TOOL])


def record(one, args, call_id="call-1", **changes):
    """What the hook leaves."""
    data = {
        **human.about(one, one.bundle.by_name[TOOL]),
        "call_id": call_id,
        "digest": hookcore.digest(TOOL, args),
        "note": note(one),
        **changes,
    }
    hookcore.leave(one.folder.name, "approvals", hookcore.sha256(call_id), data)


def call(one, args, caller=CALL, **more):
    return execute(one, TOOL, {**args, human.NOTE: note(one), **more}, caller)


def refused(outcome, *words, code="human_approval_required"):
    assert outcome.refusal
    assert outcome.refusal.code == code
    for word in words:
        assert word in outcome.refusal.message
    return outcome.refusal.message


def held(one):
    return [json.loads(path.read_bytes()) for path in (one.folder.ready() / "pending").glob("*.json")]


# The harness's dialog and the hook's record


def test_a_recorded_call_runs_once(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    assert call(one, args).refusal is None
    assert len(upstream.plans) == 1
    refused(call(one, {**args, "idempotency_key": "key-00002"}), "did not see this call")
    refused(call(one, args), "did not see this call", "Switch the hooks on.", "anvil allow")
    assert len(upstream.plans) == 1


def test_the_note_reaches_no_schema_and_no_request(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    call(one, args)
    assert human.NOTE not in repr(upstream.plans)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tool": "other"}, "changed the call"),
        ({"digest": "0" * 64}, "changed the call"),
        ({"contract_digest": "0" * 64}, "another version of the contract"),
        ({"service": "other"}, "another version of the contract"),
        ({"origin": "https://other.example"}, "another version of the contract"),
        ({"note": "Harmless."}, "another version of the contract"),
    ],
)
def test_a_record_of_something_else(ready, upstream, changes, words):
    make, args = ready
    one = make()
    record(one, args, **changes)
    message = refused(call(one, args), words, "Do not retry.")
    assert "anvil allow" not in message
    assert held(one) == []
    refused(call(one, args), "did not see this call")  # it is burnt
    assert upstream.plans == []


def test_arguments_that_were_changed_after_the_dialog(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    refused(call(one, {**args, "charge": "ch_2"}), "changed the call")
    assert upstream.plans == []


@pytest.mark.parametrize("said", [None, "", "Harmless.", True, ["x"]])
def test_a_note_that_is_not_the_contracts(ready, upstream, said):
    make, args = ready
    one = make()
    record(one, args)
    refused(call(one, args, **{human.NOTE: said}), "not shown the contract's sentence")
    assert upstream.plans == []


def test_no_note_at_all(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    refused(execute(one, TOOL, args, CALL), "not shown the contract's sentence")
    assert upstream.plans == []


@pytest.mark.parametrize("call_id", [None, "", "call-2", "../call-1"])
def test_another_call(ready, upstream, call_id):
    make, args = ready
    one = make()
    record(one, args)
    refused(call(one, args, replace(CALL, call_id=call_id)), "did not see this call")
    assert upstream.plans == []


def test_a_record_of_long_ago(ready, upstream, monkeypatch):
    make, args = ready
    one = make()
    record(one, args)
    later = time.time() + 1900
    monkeypatch.setattr("anvil_runtime.approvals.time.time", lambda: later)
    refused(call(one, args), "more than 30 minutes old")
    assert upstream.plans == []


@pytest.mark.parametrize("version", ["1.9.9", "2.0.0-beta", "", None])
def test_a_client_below_the_floor_is_none_that_we_know(ready, upstream, version):
    """Also where any form counts: it lacks the dialog that its later versions have."""
    make, args = ready
    one = make("any")
    record(one, args)
    caller = replace(CALL, version=version, ask=answer("accept"))
    refused(execute(one, TOOL, args, caller), "not known to ask a person", "anvil allow")
    refused(call(one, args, caller), "not known to ask a person", "anvil allow")
    assert len(held(one)) == 2
    assert all(human.NOTE not in one["arguments"] for one in held(one))
    assert upstream.plans == []


def test_a_dialog_client_is_not_asked_by_form(ready, upstream):
    make, args = ready
    one = make("any")
    asked = []
    refused(call(one, args, replace(CALL, ask=asked.append)), "did not see")
    assert (asked, upstream.plans) == ([], [])


def test_what_the_other_gates_refuse_spends_no_record(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    keyless = {name: value for name, value in args.items() if name != "idempotency_key"}
    refused(call(one, keyless), code="idempotency_key_required")
    refused(call(one, {**args, "extra": 1}), code="invalid_arguments")
    assert call(one, args).refusal is None
    assert len(upstream.plans) == 1


def test_a_state_folder_that_is_not_safe(ready, upstream):
    make, args = ready
    one = make()
    record(one, args)
    one.folder.ready().chmod(0o755)
    assert call(one, args).refusal
    assert upstream.plans == []


# A form with a code


def answer(action, code=None, content=None):
    """A person's hand at the form: ``code``: what is typed for the code that is shown."""

    def ask(question):
        ask.seen.append(question)
        shown = question.message.partition("type ")[2][:4]
        given = {"code": shown if code is None else code(shown)} if content is None else content
        return Reply(action, given if action == "accept" else {}, question)

    ask.seen = []
    return ask


def at_form(ask, name="form", **more):
    return Caller("mcp", name, "1.0.0", ask=ask, **more)


def test_the_typed_code_runs_the_call(ready, upstream):
    make, args = ready
    ask = answer("accept")
    assert execute(make(), TOOL, args, at_form(ask)).refusal is None
    assert len(upstream.plans) == 1
    (question,) = ask.seen
    assert question.schema["required"] == ["code"]
    assert set(question.schema["properties"]) == {"code"}
    assert "default" not in question.schema["properties"]["code"]
    assert "ch_1" in question.message
    assert "It cannot be called back." in question.message
    assert len(question.message.splitlines()) <= 15


@pytest.mark.parametrize(
    "typed",
    [str.lower, lambda code: f" {code}", lambda code: code + "\n", lambda code: code[:3], lambda _: "",
     lambda _: "fix 1 bug", lambda code: [code], lambda _: True, lambda code: code[::-1] + "x",
     lambda code: code + "é", lambda _: "\ud800"],
)  # fmt: skip
def test_a_code_that_is_not_exactly_it(ready, upstream, typed):
    make, args = ready
    one = make()
    refused(
        execute(one, TOOL, args, at_form(answer("accept", typed))),
        "no person approved",
        code="approval_declined",
    )
    assert upstream.plans == []
    assert execute(one, TOOL, args, at_form(answer("accept"))).refusal is None  # it was no person's no


def test_an_acceptance_without_content(ready, upstream):
    make, args = ready
    refused(
        execute(make(), TOOL, args, at_form(answer("accept", content={}))),
        "no person approved",
        code="approval_declined",
    )
    assert upstream.plans == []


def test_the_code_is_new_each_time(ready):
    make, args = ready
    one, ask = make(), answer("accept", lambda _: "")
    for _ in range(40):
        execute(one, TOOL, args, at_form(ask))
    codes = {question.message.partition("type ")[2][:4] for question in ask.seen}
    assert len(codes) >= 38
    assert all(len(code) == 4 and code.isupper() for code in codes)


def test_the_code_of_an_earlier_question_is_worth_nothing(ready, upstream):
    make, args = ready
    one, first = make(), answer("accept", lambda _: "")
    execute(one, TOOL, args, at_form(first))
    old = first.seen[0].message.partition("type ")[2][:4]
    refused(
        execute(one, TOOL, args, at_form(answer("accept", lambda _: old))),
        "no person approved",
        code="approval_declined",
    )
    assert upstream.plans == []


def test_decline_and_cancel_mean_what_the_client_says(ready, upstream):
    make, args = ready
    one = make("any")
    refused(execute(one, TOOL, args, at_form(answer("decline"))), "could not ask a person", "anvil allow")
    message = refused(
        execute(one, TOOL, args, at_form(answer("cancel"))), "no person approved", code="approval_declined"
    )
    assert "anvil allow" not in message
    refused(
        execute(one, TOOL, args, at_form(answer("cancel"), "plain")), "declined or not shown", "anvil allow"
    )
    refused(execute(one, TOOL, args, at_form(answer("decline"), "never seen")), "declined or not shown")
    assert upstream.plans == []


def test_a_persons_no_closes_exactly_that_call(ready, upstream):
    make, args = ready
    one = make("any")
    refused(execute(one, TOOL, args, at_form(answer("decline"), "plain")), code="approval_declined")
    ask = answer("accept")
    refused(execute(one, TOOL, args, at_form(ask)), code="approval_declined")
    record(one, args)
    refused(call(one, args), code="approval_declined")
    assert (ask.seen, upstream.plans) == ([], [])
    assert execute(one, TOOL, {**args, "charge": "ch_2"}, at_form(ask)).refusal is None
    args["idempotency_key"] = "key-00009"  # the other is of the call above
    refused(execute(one, TOOL, args, at_form(answer("decline"), "plain")), code="approval_declined")
    assert execute(make("any"), TOOL, args, at_form(ask)).refusal is None  # another session


def test_a_no_to_the_same_call_meanwhile_counts(ready, upstream):
    make, args = ready
    one, yes = make("any"), answer("accept")

    def slow(question):
        refused(execute(one, TOOL, args, at_form(answer("decline"), "plain")), code="approval_declined")
        return yes(question)

    refused(execute(one, TOOL, args, at_form(slow)), code="approval_declined")
    assert upstream.plans == []


@pytest.mark.parametrize(
    ("policy", "client", "runs"),
    [
        ("listed", "form", True),
        ("listed", "plain", False),
        ("listed", "never seen", False),
        ("any", "form", True),
        ("any", "plain", True),
        ("any", "never seen", True),
        ("none", "form", False),
        ("none", "plain", False),
        ("none", "never seen", False),
    ],
)
def test_whose_forms_count(ready, upstream, policy, client, runs):
    make, args = ready
    ask = answer("accept")
    outcome = execute(make(policy), TOOL, args, at_form(ask, client))
    assert (outcome.refusal is None, len(upstream.plans), len(ask.seen)) == (runs, runs, runs)
    if not runs:
        refused(outcome, "anvil allow")


@pytest.mark.parametrize("caller", [Caller("mcp"), Caller("command line"), Caller("mcp", "form", "1.0.0")])
def test_who_cannot_be_asked(ready, upstream, caller):
    make, args = ready
    refused(execute(make("any"), TOOL, args, caller), "anvil allow")
    assert upstream.plans == []


def test_nobody_attends(ready, upstream):
    make, args = ready
    ask = answer("accept")
    caller = at_form(ask, meta={"turn": {"trigger": "exec"}})
    refused(execute(make(), TOOL, args, caller), "Nobody attends", "anvil allow")
    assert (ask.seen, upstream.plans) == ([], [])


def test_the_model_cannot_send_the_note_where_no_hook_puts_it(ready, upstream):
    make, args = ready
    refused(call(make(), args, at_form(answer("accept"))), code="invalid_arguments")
    assert upstream.plans == []


def test_a_question_that_does_not_fit_is_not_asked(ready, upstream):
    make, args = ready
    ask = answer("accept")
    long = {**args, "charge": "c" * 1200}
    refused(execute(make(), TOOL, long, at_form(ask)), "do not fit", "anvil allow")
    assert (ask.seen, upstream.plans) == ([], [])


def test_what_a_terminal_acts_on_is_written_out(ready):
    make, args = ready
    ask = answer("accept")
    execute(make(), TOOL, {**args, "charge": "a\x1b[31m\u202eb\u200b\x9b\ne\u2028\U000e0001"}, at_form(ask))
    (question,) = ask.seen
    assert all(" " <= one <= "~" or one == "\n" for one in question.message)
    for written in ("\\u001b[31m", "\\u{202e}", "\\u{200b}", "\\u{9b}", "\\u{2028}", "\\u{e0001}"):
        assert written in question.message


# What is held for a person to run elsewhere


def test_a_held_call_says_all_that_is_needed(ready):
    make, args = ready
    one = make()
    message = refused(execute(one, TOOL, args, Caller("command line")))
    (one_held,) = held(one)
    assert f"`anvil allow {one_held['id']}`" in message
    assert f"mcp/server.py allow {one_held['id']}`" in message
    assert one_held.pop("time") > 1_700_000_000
    assert one_held == {
        **human.about(one, one.bundle.by_name[TOOL]),
        "id": one_held["id"],
        "bundle": str(one.bundle.folder or "."),
        "arguments": args,
    }
    assert len(one_held["id"]) == 8


def test_held_calls_are_bounded_in_number_and_size(ready):
    make, args = ready
    one = make()
    for number in range(105):
        execute(one, TOOL, {**args, "charge": f"ch_{number}"}, Caller("command line"))
    kept = {one_held["arguments"]["charge"] for one_held in held(one)}
    assert len(kept) == 100
    assert "ch_104" in kept
    message = refused(execute(one, TOOL, {**args, "charge": "c" * 70_000}, Caller("command line")))
    assert "anvil allow" not in message
    assert "Ask the user to run it themselves" in message


def test_hook_and_server_hold_and_record_alike(ready, tmp_path):
    """What the server compares is what the hook writes, from the catalog of the same contract."""
    make, args = ready
    one = make()
    (tmp_path / "catalog.json").write_bytes(catalog.write(one.bundle.air, {"d": ["mcp__d__"]}))
    state = one.folder.name
    decision = hookcore.guard(str(tmp_path), "d", state, TOOL, args, "call-1", True, True)
    assert (decision.verb, decision.reason) == (hookcore.ASK, note(one))
    assert call(one, args).refusal is None
    hookcore.guard(str(tmp_path), "d", state, TOOL, args, "call-2", False, True)
    execute(one, TOOL, {**args, "idempotency_key": "key-00009"}, Caller("command line"))
    first, second = held(one)
    assert set(first) == set(second)
    assert {key: first[key] for key in human.about(one, one.bundle.by_name[TOOL])} == {
        key: second[key] for key in human.about(one, one.bundle.by_name[TOOL])
    }


def test_every_cause_has_a_text_and_what_is_held_is_one():
    assert set(human.HELD) - set(human.CAUSES) == set()
    for text in human.CAUSES.values():
        assert text.endswith((".", "it."))


def test_the_servers_of_operations_without_human_approval_ask_nobody(ready, upstream, full):
    make, _ = ready
    ask = answer("accept")
    one = make("any", "refund_create")
    assert execute(one, "refund_create", {**full, "confirm": True}, at_form(ask)).refusal is None
    assert (len(upstream.plans), ask.seen) == (1, [])

"""Forms over MCP through the SDK's own client, in both eras; answers bound to their call, and used once."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError

from anvil_runtime import elicitation
from anvil_runtime.asking import FIELD
from anvil_runtime.caller import NeedsAnswer, Question
from anvil_runtime.elicitation import ANSWER_SECONDS, MOST_PENDING, Questions
from anvil_runtime.server import make_server

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
QUESTION = Question("Send it?", {"type": "object", "properties": {}})
STATELESS = "2026-07-28"


def elicited(action, content=None):
    """(a client's callback that answers so, the forms that it was shown)."""
    shown = []

    async def answer(_context, params):
        shown.append(params)
        return mcp_types.ElicitResult(action=action, content=content)

    return answer, shown


def talk(executor, era, callback, work):
    async def run():
        async with Client(make_server(executor), mode=era, elicitation_callback=callback) as client:
            return await work(client)

    return asyncio.run(run())


def call(executor, era, callback, args):
    return talk(executor, era, callback, lambda client: client.call_tool("refund_create", args))


def code_of(result):
    return json.loads(result.content[0].text)["error"]["code"] if result.is_error else None


@pytest.fixture
def unconfirmed(full):
    return {name: value for name, value in full.items() if name != "confirm"}


@ERAS
@pytest.mark.parametrize(
    ("action", "content", "code"),
    [
        ("accept", {FIELD: "yes"}, None),
        ("accept", {FIELD: "no"}, "approval_declined"),
        ("accept", {}, "confirmation_required"),
        ("accept", None, "confirmation_required"),
        ("decline", None, "confirmation_required"),
        ("decline", {FIELD: "yes"}, "confirmation_required"),
        ("cancel", None, "confirmation_required"),
    ],
)
def test_an_answer_counts_alike_in_both_eras(executor, upstream, unconfirmed, era, action, content, code):
    callback, shown = elicited(action, content)
    result = call(executor(), era, callback, unconfirmed)
    assert code_of(result) == code
    assert len(shown) == 1
    assert len(upstream.plans) == (code is None)
    assert shown[0].message.startswith("Shop: refund_create\n")
    assert shown[0].requested_schema["required"] == [FIELD]


@ERAS
def test_a_client_without_forms_is_not_asked(executor, upstream, unconfirmed, era):
    assert code_of(call(executor(), era, None, unconfirmed)) == "confirmation_required"
    assert upstream.plans == []


@ERAS
def test_the_caller_is_who_the_client_says(executor, unconfirmed, era, monkeypatch):
    seen = []
    monkeypatch.setattr(
        elicitation,
        "Caller",
        lambda _channel, **facts: seen.append(facts) or SimpleNamespace(channel="mcp", **facts),
    )

    async def run():
        info = mcp_types.Implementation(name="careful-cli", version="1.2.3")
        async with Client(make_server(executor()), mode=era, client_info=info) as client:
            await client.call_tool("charge_get", {"charge": "x"}, meta={"careful/call": "c1"})

    asyncio.run(run())
    (facts,) = seen
    assert (facts["client"], facts["version"]) == ("careful-cli", "1.2.3")
    assert facts["meta"]["careful/call"] == "c1"
    assert facts["ask"] is None


@pytest.mark.parametrize(
    ("capability", "forms"),
    [({}, True), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False), (None, False)],
)
def test_forms_are_shown_where_they_are_declared(capability, forms):
    declared = {} if capability is None else {"elicitation": capability}
    capabilities = mcp_types.ClientCapabilities.model_validate(declared)
    assert elicitation.can_show_forms(capabilities) is forms
    assert not elicitation.can_show_forms(None)


def test_a_client_that_fails_has_not_answered(executor, upstream, unconfirmed):
    async def broken(_context, _params):
        return mcp_types.ErrorData(code=-32601, message="no forms here")

    assert code_of(call(executor(), "legacy", broken, unconfirmed)) == "confirmation_required"
    assert upstream.plans == []


def test_a_client_that_never_answers_has_not_answered():
    async def never(*_):
        await anyio.sleep_forever()

    context = SimpleNamespace(session=SimpleNamespace(elicit_form=never), request_id=1)
    reply = anyio.run(elicitation.elicit, context, QUESTION, 0.05)
    assert (reply.action, reply.question) == ("unanswered", QUESTION)


def test_a_call_that_is_cancelled_at_the_form_is_not_sent(executor, upstream, unconfirmed):
    async def slow(_context, _params):
        await anyio.sleep(0.5)
        return mcp_types.ElicitResult(action="accept", content={FIELD: "yes"})

    async def give_up(client):
        with anyio.move_on_after(0.1):
            await client.call_tool("refund_create", unconfirmed)
        await anyio.sleep(1)

    talk(executor(), "legacy", slow, give_up)
    assert upstream.plans == []


# The stateless era: the answer comes with another request


def raw(client, args, **more):
    """One request, as it is: the client's own second one is not made."""
    return client.session.call_tool("refund_create", args, allow_input_required=True, **more)


def yes():
    return {elicitation.REQUEST: mcp_types.ElicitResult(action="accept", content={FIELD: "yes"})}


def in_two_steps(executor, steps):
    callback, _ = elicited("cancel")
    return talk(executor, STATELESS, callback, steps)


def is_question(result):
    return isinstance(result, mcp_types.InputRequiredResult)


async def tried(client, args, state):
    """One request with an answer and a state: its result, or the protocol's error as its code."""
    try:
        return await raw(client, args, input_responses=yes(), request_state=state)
    except MCPError as error:
        return error.code if "without requestState" in error.message else error.message


def test_a_state_answers_once(executor, upstream, unconfirmed):
    async def steps(client):
        state = (await raw(client, unconfirmed)).request_state
        return await tried(client, unconfirmed, state), await tried(client, unconfirmed, state)

    first, second = in_two_steps(executor(), steps)
    assert (first.is_error, second) == (False, mcp_types.INVALID_PARAMS)
    assert len(upstream.plans) == 1


@pytest.mark.parametrize("change", [{"body": {"amount": 6}}, {"body": {"amount": 5.0}}, {"charge": "ch_2"}])
def test_a_state_answers_for_the_arguments_that_were_shown(executor, upstream, unconfirmed, change):
    async def steps(client):
        state = (await raw(client, unconfirmed)).request_state
        return await tried(client, {**unconfirmed, **change}, state), await tried(client, unconfirmed, state)

    other, again = in_two_steps(executor(), steps)
    assert other == mcp_types.INVALID_PARAMS
    assert again == mcp_types.INVALID_PARAMS, "and it is spent by the attempt"
    assert upstream.plans == []


@pytest.mark.parametrize("state", ["", "forged"])
def test_a_state_that_is_not_the_servers_own_is_rejected(executor, upstream, unconfirmed, state):
    """The protocol's 2026-07-28: a server must reject it; also where the call would need no question."""

    async def steps(client):
        return await tried(client, unconfirmed, state), await tried(
            client, {**unconfirmed, "confirm": True}, state
        )

    assert in_two_steps(executor(), steps) == (mcp_types.INVALID_PARAMS, mcp_types.INVALID_PARAMS)
    assert upstream.plans == []


def test_an_answer_without_a_state_is_none(executor, upstream, unconfirmed):
    assert is_question(in_two_steps(executor(), lambda client: tried(client, unconfirmed, None)))
    assert upstream.plans == []


def test_a_state_is_not_of_another_tool_and_ends():
    now = [0.0]
    questions = Questions(now=lambda: now[0])
    assert questions.take(questions.ask("a", {}, QUESTION), "b", {}) is None
    state = questions.ask("a", {}, QUESTION)
    now[0] = ANSWER_SECONDS + 1
    assert questions.take(state, "a", {}) is None
    assert questions.take(questions.ask("a", {}, QUESTION), "a", {}) == QUESTION


def test_questions_that_nobody_answers_are_forgotten():
    questions = Questions()
    states = [questions.ask("a", {}, QUESTION) for _ in range(MOST_PENDING + 1)]
    assert questions.take(states[0], "a", {}) is None
    assert questions.take(states[-1], "a", {}) == QUESTION


def test_the_answer_is_to_the_question_that_was_shown():
    shown = Question("first", {}, expected="ABCD")
    answer = mcp_types.ElicitResult(action="accept", content={FIELD: "ABCD"})
    reply = elicitation.answered(shown, answer, Question("second", {}, expected="EFGH"))
    assert reply.question.expected == "ABCD"
    with pytest.raises(NeedsAnswer):
        elicitation.answered(shown, None, QUESTION)


def test_what_is_no_answer_to_a_form_is_none():
    listed = mcp_types.ListRootsResult(roots=[])
    assert elicitation.reply_of(listed, QUESTION).action == "unanswered"

from __future__ import annotations

import http.client
import json

import pytest

from anvil_lab.inside.scripted_messages import LAST_WORDS, TASK, Model, text, tool_use

TOOLS = [{"name": "t"}]
USER = {"role": "user", "content": "go"}
ASSISTANT = {"role": "assistant", "content": []}


@pytest.fixture
def model():
    with Model([[text("first"), tool_use(0, "t", {"a": 1})], [text("second")]]) as made:
        yield made


def post(model, body, path="/v1/messages?beta=true"):
    link = http.client.HTTPConnection(*model.server_address, timeout=10)
    try:
        link.request("POST", path, json.dumps(body))
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    finally:
        link.close()


def events(stream):
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]


def test_the_turn_is_counted_from_the_request_so_a_retry_gets_the_same(model):
    body = {"tools": TOOLS, "messages": [USER]}
    first = post(model, body)
    assert post(model, body) == first
    content = json.loads(first[1])["content"]
    assert content == [text("first"), tool_use(0, "t", {"a": 1})]
    later = json.loads(post(model, {"tools": TOOLS, "messages": [USER, ASSISTANT, USER]})[1])
    assert (later["content"], later["stop_reason"]) == ([text("second")], "end_turn")
    beyond = json.loads(post(model, {"tools": TOOLS, "messages": [ASSISTANT] * 5})[1])
    assert beyond["content"] == [text(LAST_WORDS)]


def test_a_stream_says_the_same(model):
    status, stream = post(model, {"tools": TOOLS, "messages": [USER], "stream": True})
    assert status == 200
    found = events(stream)
    assert [event["type"] for event in found[:2]] == ["message_start", "content_block_start"]
    assert found[-1]["type"] == "message_stop"
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "text_delta", "text": "first"}
    assert json.loads(deltas[1]["partial_json"]) == {"a": 1}


def test_side_questions_do_not_move_the_script(model):
    assert json.loads(post(model, {"messages": [USER]})[1])["content"] == [text("ok")]
    assert model.turn == -1
    assert model.main_requests() == []


def test_what_happens_before_a_turn_happens_once():
    seen = []
    with Model([[text("a")], [text("b")]], seen.append) as model:
        for messages in ([USER], [USER], [USER, ASSISTANT]):
            post(model, {"tools": TOOLS, "messages": messages})
    assert (seen, model.turn) == ([0, 1], 1)


def test_other_addresses_are_noted(model):
    assert post(model, {}, "/v1/messages/count_tokens")[0] == 200
    assert post(model, {}, "/v1/elsewhere")[0] == 404
    assert model.unexpected == ["POST /v1/elsewhere"]


def test_calls_made_together_are_blocks_of_one_answer():
    model = Model([])
    ids = model.script([("t", {"a": 1}), ("t", {"a": 2})], together=True)
    assert [block["id"] for block in model.answer({"tools": TOOLS, "messages": [USER]})] == ids
    assert model.answer({"tools": TOOLS, "messages": [USER, ASSISTANT, USER]}) == [text(LAST_WORDS)]
    model.server_close()


def test_an_agent_makes_the_calls_and_the_model_waits_for_it():
    model = Model([], subagent=True)
    (use,) = model.script([("t", {"a": 1})])
    (spawn,) = model.answer({"tools": TOOLS, "messages": [USER]})
    assert (spawn["name"], spawn["input"]["prompt"]) == ("Agent", TASK)
    task = {"role": "user", "content": TASK}
    assert model.answer({"tools": TOOLS, "messages": [task]})[0]["id"] == use
    assert not model.ended.is_set()
    assert model.answer({"tools": TOOLS, "messages": [task, ASSISTANT, USER]}) == [text(LAST_WORDS)]
    assert model.ended.is_set()
    assert model.answer({"tools": TOOLS, "messages": [USER, ASSISTANT, USER]}) == [text(LAST_WORDS)]
    model.server_close()

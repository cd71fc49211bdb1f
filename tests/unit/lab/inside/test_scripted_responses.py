from __future__ import annotations

import http.client
import json

import pytest

from anvil_lab.inside import scripted_responses
from anvil_lab.inside.scripted_messages import LAST_WORDS
from anvil_lab.inside.scripted_responses import Model, offered, resolve

NAME = "mcp__pay__refund"
RENAMED = "mcp__pay_0123456789ab__refund"
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}


def tools(*servers):
    spaces = [{"type": "namespace", "name": name, "tools": [{"name": "refund"}]} for name in servers]
    return [{"type": "function", "name": "exec_command"}, *spaces]


def output(call_id, text="done"):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def look(call_id, *names):
    texts = [{"type": "input_text", "text": text} for text in ("Script completed", " ".join(names))]
    return {"type": "custom_tool_call_output", "call_id": call_id, "output": texts}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(scripted_responses, "PAUSE", 0)


@pytest.fixture
def start():
    started = []

    def make(shape="plain", **more):
        model = Model(shape, **more).__enter__()
        started.append(model)
        model.script([(NAME, {"a": 1}), ("exec_command", {"cmd": "true"})])
        return model

    yield make
    for model in started:
        model.__exit__()


def ask(model, items, servers=("mcp__pay",), path="/v1/responses"):
    """The item that the model answers with."""
    link = http.client.HTTPConnection(*model.server_address, timeout=10)
    body = {"input": [USER, *items], "tools": tools(*servers)}
    if model.shape == "code":
        body = {"input": [{"type": "additional_tools", "role": "developer"}, USER, *items]}
    try:
        link.request("POST", path, json.dumps(body))
        answer = link.getresponse()
        lines = answer.read().decode().splitlines()
    finally:
        link.close()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert [event["type"] for event in events[:1]] == ["response.created"] * (answer.status == 200)
    return events[-1]["response"]["output"][0] if events else answer.status


def test_plain_calls_carry_their_servers_namespace(start):
    model = start()
    first = ask(model, [])
    assert (first["type"], first["call_id"], first["status"]) == ("function_call", "call_0000", "completed")
    assert (first["namespace"], first["name"], json.loads(first["arguments"])) == (
        "mcp__pay",
        "refund",
        {"a": 1},
    )
    again = ask(model, [])
    assert again["call_id"] == "call_0000"
    second = ask(model, [output("call_0000")])
    assert (second["name"], "namespace" in second) == ("exec_command", False)
    last = ask(model, [output("call_0000"), output("call_0001")])
    assert last["content"][0]["text"] == LAST_WORDS
    assert model.offered() == ["exec_command", NAME]


def test_code_calls_await_the_tool_after_a_look(start):
    model = start("code")
    first = ask(model, [])
    assert (first["type"], first["name"]) == ("custom_tool_call", "exec")
    assert "ALL_TOOLS" in first["input"]
    second = ask(model, [look("look_0001", "exec_command", NAME)])
    assert second["input"] == f'text(await tools["{NAME}"]({{"a": 1}}))'
    assert second["call_id"] == "call_0000"
    assert model.turn == 0


def test_it_waits_for_a_server_and_gives_up_in_the_end(start):
    model = start()
    assert ask(model, [], servers=())["call_id"] == "look_0001"
    assert ask(model, [], servers=())["call_id"] == "look_0002"
    assert ask(model, [])["call_id"] == "call_0000"
    model = start()
    model.looks = scripted_responses.LOOKS
    assert ask(model, [], servers=())["call_id"] == "call_0000"


def test_it_waits_for_all_the_servers_of_the_user(start):
    model = start(servers=2)
    assert ask(model, [])["call_id"] == "look_0001"
    found = ask(model, [], servers=("mcp__pay_0123456789ab", "mcp__pay_ba9876543210"))
    assert found["namespace"] == "mcp__pay_0123456789ab"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ({NAME}, NAME),
        ({RENAMED, "mcp__pay_ba9876543210__echo"}, RENAMED),
        ({NAME, RENAMED}, NAME),
        ({"mcp__pay2__refund", "mcp__pay_0123__refund", "mcp__pay_0123456789ab__refund2"}, NAME),
        (set(), NAME),
    ],
)
def test_a_renamed_tool_is_found(names, found):
    assert resolve(NAME, names) == found
    assert resolve("exec_command", names) == "exec_command"


def test_an_agent_makes_the_calls_and_the_model_waits_for_it(start):
    model = start(subagent=True)
    spawn = ask(model, [])
    assert (spawn["namespace"], spawn["name"]) == ("multi_agent_v1", "spawn_agent")
    task = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": scripted_responses.TASK}],
    }
    assert ask(model, [task])["call_id"] == "call_0000"
    assert not model.ended.is_set()
    ask(model, [task, output("call_0000"), output("call_0001")])
    assert ask(model, [output("spawn_0000")])["content"][0]["text"] == LAST_WORDS


def test_calls_made_together_are_items_of_one_answer(start):
    model = start()
    ids = model.script([(NAME, {"a": 1}), (NAME, {"a": 2})], together=True)
    items = model.answer({"input": [USER], "tools": tools("mcp__pay")})
    assert [(item["call_id"], item["arguments"]) for item in items] == [
        (ids[0], '{"a": 1}'),
        (ids[1], '{"a": 2}'),
    ]
    stream = scripted_responses.events(1, items)
    assert [event["output_index"] for event in stream if "output_index" in event] == [0, 0, 1, 1]
    assert len(stream[-1]["response"]["output"]) == 2
    assert len({item["id"] for item in stream[-1]["response"]["output"]}) == 2
    assert ask(model, [output(one) for one in ids])["content"][0]["text"] == LAST_WORDS


def test_side_questions_and_other_paths(start):
    model = start()
    assert "title" in model.answer({"input": [USER]})[0]["content"][0]["text"]
    assert model.main_requests() == []
    assert ask(model, [], path="/v1/models") == 404
    assert model.unexpected == ["POST /v1/models"]
    assert offered({"input": []}) == set()

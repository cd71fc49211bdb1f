from __future__ import annotations

import pytest

from anvil_lab import judge
from anvil_lab.inside.records import Request, Result, Told
from anvil_lab.scenario import Setting, Step, Trial

RAN = Told("t", True, False, "all is well", [], None)
REFUSED = Told("t", True, True, "confirm is missing", [], "hook")
SILENT = Told("t", False, False, "", [], None)
SENT = Request(0, "POST", "/x", {"a": ["1"]}, {"idempotency-key": "k"}, {"n": 1})


def found(expect, told, *requests, **more):
    trial = Trial(setting=Setting(), steps=[Step.model_validate({"tool": "t", "expect": expect})], answers=[])
    rest = {"version": "", "exit_code": 0, "offered": [], "servers": {}, "notices": [], "screens": []}
    rest |= {"unexpected": [], "seconds": {}, "stderr": "", "error": None, **more}
    return judge.problems(trial, Result(told=[told], requests=list(requests), **rest))


REQUEST = {"method": "POST", "path": "/x"}
RIGHT = [
    ({"outcome": "ran"}, RAN),
    ({"outcome": "refused", "by": "hook", "text": ["confirm"], "lacks": ["key"]}, REFUSED),
    ({"outcome": "stopped"}, SILENT),
    ({"outcome": "ran", "requests": [REQUEST]}, RAN, SENT),
    (
        {
            "outcome": "ran",
            "requests": [
                {**REQUEST, "query": {"a": ["1"]}, "headers": {"Idempotency-Key": "k"}, "body": {"n": 1}}
            ],
        },
        RAN,
        SENT,
    ),
]
WRONG = [
    ({"outcome": "ran"}, REFUSED, "expected ran, it was refused"),
    ({"outcome": "refused"}, RAN, "expected refused, it was ran"),
    ({"outcome": "refused", "by": "server"}, REFUSED, "by the server, it was by hook"),
    ({"outcome": "refused", "text": ["boolean"]}, REFUSED, "lacks 'boolean'"),
    ({"outcome": "refused", "lacks": ["confirm"]}, REFUSED, "holds 'confirm'"),
    (
        {"outcome": "ran", "silent": True},
        Told("t", True, False, "", ["a hook's words"], None),
        "hook said something",
    ),
    ({"outcome": "ran"}, RAN, SENT, "expected 0 requests at the API, there were 1: POST /x"),
    ({"outcome": "ran", "requests": [REQUEST]}, RAN, "there were 0: none"),
    ({"outcome": "ran", "requests": [REQUEST]}, RAN, SENT, SENT, "there were 2"),
    ({"outcome": "ran", "requests": [{**REQUEST, "path": "/y"}]}, RAN, SENT, "expected POST /y"),
    ({"outcome": "ran", "requests": [{**REQUEST, "query": {}}]}, RAN, SENT, "expected the query"),
    ({"outcome": "ran", "requests": [{**REQUEST, "headers": {"X": "1"}}]}, RAN, SENT, "expected X: 1"),
    ({"outcome": "ran", "requests": [{**REQUEST, "body": {"n": True}}]}, RAN, SENT, "expected the body"),
    ({"outcome": "ran", "requests": [{**REQUEST, "body": None}]}, RAN, SENT, "expected the body null"),
]


@pytest.mark.parametrize("case", RIGHT)
def test_what_was_expected_is_no_problem(case):
    assert found(*case) == []


@pytest.mark.parametrize("case", WRONG)
def test_each_difference_is_named(case):
    [words] = found(*case[:-1])
    assert case[-1] in words


def test_what_lies_outside_the_calls_is_named():
    early = Request(-1, "GET", "/early", {}, {}, None)
    words = found({"outcome": "ran"}, RAN, early, unexpected=["GET /elsewhere"], error="it did not end")
    assert words == [
        "it did not end",
        "the harness asked for GET /elsewhere",
        "a request outside every call: GET /early",
    ]


def judged(setting, dialogs, requests=(), steps=({"tool": "t", "expect": {"outcome": "ran"}},)):
    trial = Trial(
        setting=Setting.model_validate(setting),
        steps=[Step.model_validate(step) for step in steps],
        answers=[],
    )
    rest = {"version": "", "exit_code": 0, "offered": [], "servers": {}, "notices": [], "screens": []}
    rest |= {"unexpected": [], "seconds": {}, "stderr": "", "dialogs": dialogs}
    return judge.problems(trial, Result(told=[RAN] * len(steps), requests=list(requests), **rest))


def test_dialogs_are_counted():
    assert judged({"person": ["yes"]}, ["one"]) == []
    assert judged({"person": ["yes"]}, []) == ["1 dialogs were expected, 0 were seen"]
    assert judged({}, ["one"]) == ["0 dialogs were expected, 1 were seen"]
    assert judged({"person": ["yes to all"]}, ["one", "two"]) == []


def test_what_a_dialog_shows_is_found_where_the_terminal_has_broken_it():
    dialog = " Tool use\n   \u2502 It moves money and cannot\n   \u2502  be undone.\n"
    assert judged({"person": ["yes"], "shows": ["money and cannot be undone."]}, [dialog]) == []
    (words,) = judged({"person": ["yes"], "shows": ["other words"]}, [dialog])
    assert words.startswith("no dialog shows 'other words'")


def test_a_request_belongs_to_the_call_made_together_that_it_looks_like():
    steps = [
        {"tool": "t", "args": {"body": {"n": n}}, "expect": {"outcome": "ran", "requests": requests}}
        for n, requests in ((1, [REQUEST]), (2, []))
    ]
    assert judged({"together": True}, [], [SENT], steps) == []
    steps[0]["expect"], steps[1]["expect"] = steps[1]["expect"], steps[0]["expect"]
    assert len(judged({"together": True}, [], [SENT], steps)) == 2

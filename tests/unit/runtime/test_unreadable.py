"""What the SDK's transport cannot read, or could not write, over the server's own standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from itertools import repeat

import pytest

from anvil_runtime import answers, unreadable
from anvil_runtime.client import Answer
from anvil_runtime.execute import Outcome, execute
from anvil_runtime.server import result

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SERVE = "import sys; from pathlib import Path; from anvil_runtime import server; "
SERVE += "sys.exit(server.main(Path(sys.argv[1]), Path(sys.argv[2])))"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Talk:
    """A served bundle, and JSON-RPC lines by hand, since no client of the SDK writes such lines."""

    def __init__(self, bundle, port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(bundle), str(bundle.with_name("state"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"ANVIL_BASE_URL": f"http://127.0.0.1:{port}"},
        )
        self.say(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}))
        self.hear()
        self.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                stream.close()

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def call(self, name: str, args: object, id_: object = 1) -> None:
        params = {"name": name, "arguments": args}
        self.say(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}))


ANSWERS = {
    "half a surrogate pair": b'{"id": "x", "a": "\\ud800"}',
    "such a key": b'{"id": "x", "\\udfff": 1}',
    "as bytes": b'{"id": "x", "a": "\xed\xa0\x80"}',
    "deep": b'{"id": "x", "a": ' + b"[" * 300 + b"]" * 300 + b"}",
    "very deep": b"[" * 100_000 + b"]" * 100_000,
    "infinity": b'{"id": "x", "a": 1e999}',
    "a number of 5000 digits": b'{"id": "x", "a": ' + b"1" * 5000 + b"}",
}


@pytest.mark.parametrize("status", [200, 422])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_no_json_for_everybody_ends_no_server(
    bundle_folder, httpserver, full, name, status
):
    httpserver.expect_request("/api/v1/charges/ch_1/refunds", method="POST").respond_with_data(
        ANSWERS[name], status=status, content_type="application/json"
    )
    with Talk(bundle_folder, httpserver.port) as talk:
        for id_ in (1, 2):
            talk.call("refund_create", {**full, "idempotency_key": f"order-4711-{id_}"}, id_)
            said = talk.hear()
            assert said["id"] == id_
            value = json.loads(said["result"]["content"][0]["text"], parse_constant=pytest.fail)
            if status == 200:
                assert said["result"]["structuredContent"] == value
            kept = value["error"]["upstream"]["body"] if status == 422 else value["raw"]
            assert isinstance(kept, str)
            said_so = value["error"]["upstream"] if status == 422 and len(ANSWERS[name]) < 4000 else value
            assert status == 422 or said_so["violations"]
    assert len(httpserver.log) == 2


LONG = "1" * 5000
DEEP = "[" * 100_000 + "]" * 100_000
UNREADABLE = [r'"\ud800"', LONG, DEEP, r'{"id": 9, "x": "\udfff"}', r'"\"}, \"id\": 9, \ud800"']


@pytest.mark.parametrize("value", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_call_that_cannot_be_read_is_answered_and_the_next_one_too(bundle_folder, value):
    line = (
        '{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "charge_get", "arguments": {"charge": '
    )
    with Talk(bundle_folder, 9) as talk:
        talk.say(line + value + '}}, "id": "call-7"}')
        said = talk.hear()
        assert (said["id"], said["error"]["code"]) == ("call-7", -32600)
        assert "Nothing was sent" in said["error"]["message"]
        talk.call("charge_get", {"charge": None}, 8)
        assert talk.hear()["id"] == 8


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r'{"id": 5, "method": "x", "a": "\ud800"}', 5),
        (r'{"params": {"id": 4, "method": "y"}, "id": 5, "method": "x", "a": "\ud800"}', 5),
        (r'{"params": [{"id": 4}], "method": "x"}', None),
        (r'{"id": 5, "result": {"method": "\ud800"}}', None),
        (r'{"id": null, "method": "x"}', None),
        (r'{"id": true, "method": "x"}', None),
        (r'{"id": "\ud800", "method": "x"}', None),
        (r'{"id": {"id": 5}, "method": "x"}', None),
        (f'{{"id": {"1" * 5000}, "method": "x"}}', None),
        ("", None),
        ("not JSON", None),
        ("]" * 10, None),
        ('{"method": "x", "id": 5, ' + '"\\"' * 300_000, 5),
    ],
)
def test_the_id_of_what_is_no_json(line, expected):
    assert unreadable.request_id(line) == expected


def test_what_cannot_be_written_is_said(capsys):
    deep = None
    for _ in range(300):
        deep = [deep]
    made = result("refund_create", Outcome({"data": deep}))
    assert made.is_error
    assert "may have been carried out" in made.content[0].text
    made = result("refund_create", Outcome({"data": "\ud800"}))
    assert made.is_error
    assert "Traceback" in capsys.readouterr().err


def test_absent_arguments_are_none_and_null_is_no_object(bundle_folder, httpserver):
    with Talk(bundle_folder, httpserver.port) as talk:
        start = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund_create"'
        talk.say(start + "}}")
        absent = json.loads(talk.hear()["result"]["content"][0]["text"])["error"]
        talk.say(start + ', "arguments": null}}')
        null = talk.hear()
    assert [need["argument"] for need in absent["required"]][:2] == ["body", "charge"]
    assert "error" in null or "not an object" in null["result"]["content"][0]["text"]


def test_a_call_ends_with_standard_input(bundle_folder, dripping, full):
    with (
        dripping([CHUNKED], repeat(b"1\r\nx\r\n")) as (port, gone),
        Talk(bundle_folder, port) as talk,
    ):
        talk.call("refund_create", full)
        time.sleep(0.5)
        began = time.monotonic()
        talk.process.stdin.close()
        assert talk.process.wait(timeout=20) == 0
        assert time.monotonic() - began < 5
        assert gone.wait(5)


def test_a_call_ends_when_its_client_cancels_it(bundle_folder, dripping, full):
    with (
        dripping([CHUNKED], repeat(b"1\r\nx\r\n")) as (port, gone),
        Talk(bundle_folder, port) as talk,
    ):
        talk.call("refund_create", full, 3)
        time.sleep(0.5)
        assert not gone.is_set()
        talk.say('{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}')
        assert gone.wait(5)


@pytest.mark.parametrize("body", [b'{"id": "\\ud800"}', b"[" * 300 + b"]" * 300])
def test_reading_an_answer_that_fails_is_not_called_unsent(executor, upstream, full, monkeypatch, body):
    def broken(*_args, **_options):
        raise RecursionError

    upstream.answer = Answer(200, "OK", "application/json", body)
    monkeypatch.setattr(answers, "success", broken)
    error = execute(executor(), "refund_create", full).envelope["error"]
    assert error["code"] == "upstream_error"
    assert "it answered 200, and the server failed to read that (RecursionError)" in error["message"]

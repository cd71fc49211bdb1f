"""Whatever an API does with the time, a call ends at its deadline, or when nobody waits for it any more."""

from __future__ import annotations

import itertools
import socket
import threading
import time
import zlib

import anyio
import anyio.to_thread
import pytest

from anvil_core.air import Origin
from anvil_runtime import client
from anvil_runtime.execute import execute
from anvil_runtime.plan import Plan

START = b"HTTP/1.1 200 OK\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = START + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"


def gzip_head() -> bytes:
    return zlib.compressobj(wbits=31).compress(b"") or b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def empty_block() -> bytes:
    """A stored block of no bytes, in a chunk of its own."""
    return b"5\r\n\x00\x00\x00\xff\xff\r\n"


DRIPS = {
    "headers": ([START], itertools.repeat(b"X-A: b\r\n")),
    "one long header": ([START + b"X-A: "], itertools.repeat(b"b")),
    "informational answers": ([], itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n")),
    "a chunk's extension": ([CHUNKED + b"1;a="], itertools.repeat(b"b")),
    "chunks": ([CHUNKED], itertools.repeat(b"1\r\nx\r\n")),
    "trailers": ([CHUNKED + b"0\r\n"], itertools.repeat(b"X-A: b\r\n")),
    "empty blocks of gzip": (
        [GZIP + b"%x\r\n%s\r\n" % (len(gzip_head()), gzip_head())],
        itertools.repeat(empty_block()),
    ),
    "nothing": ([], ()),
}


def plan_for(port: int) -> tuple[Plan, Origin]:
    origin = Origin(scheme="http", host="127.0.0.1", port=port)
    return Plan("GET", str(origin), "/x", "", (("Accept", "*/*"),), None, None), origin


@pytest.mark.parametrize("pause", [0.01, 0.0], ids=["dripping", "flooding"])
@pytest.mark.parametrize("name", DRIPS)
def test_a_call_ends_at_its_deadline_and_closes_the_connection(dripping, name, pause):
    with dripping(*DRIPS[name], pause=pause) as (port, gone):
        began = time.monotonic()
        try:
            answer = client.send(*plan_for(port), answer_seconds=0.7)
        except (client.TimedOutError, client.BrokenError) as error:
            # A flood of headers or chunks ends earlier, at the limit of its size.
            assert pause == 0.0 or isinstance(error, client.TimedOutError) or "header" in name  # noqa: PT017
        else:
            assert (pause, answer.cut) == (0.0, True)
        assert time.monotonic() - began < 3
        assert gone.wait(5)


def test_the_words_and_the_code(dripping, executor, full):
    with dripping(*DRIPS["headers"]) as (port, _):
        one = executor(environ={"ANVIL_BASE_URL": f"http://127.0.0.1:{port}"})
        object.__setattr__(one, "send", lambda plan, origin: client.send(plan, origin, answer_seconds=0.5))
        error = execute(one, "refund_create", full).envelope["error"]
    assert error["code"] == "upstream_timeout"
    assert "no whole answer within 0.5 seconds" in error["message"]


def test_a_call_that_is_cancelled_holds_no_thread(dripping):
    async def run(port: int) -> float:
        began = time.monotonic()
        with anyio.move_on_after(0.5):
            await anyio.to_thread.run_sync(client.Connections().send_from_worker, *plan_for(port))
        return time.monotonic() - began

    with dripping(*DRIPS["chunks"]) as (port, gone):
        assert anyio.run(run, port) < 3
        assert gone.wait(5)


def test_from_a_worker_the_answer_is_the_same():
    listener = socket.create_server(("127.0.0.1", 0))

    def work() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(START + b"Content-Length: 2\r\n\r\nhi")

    threading.Thread(target=work, daemon=True).start()

    async def run() -> client.Answer:
        plan, origin = plan_for(listener.getsockname()[1])
        return await anyio.to_thread.run_sync(client.Connections().send_from_worker, plan, origin)

    assert anyio.run(run).body == b"hi"
    listener.close()

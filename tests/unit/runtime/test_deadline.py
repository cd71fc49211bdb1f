"""Whatever an API does with the time, a call ends at its deadline, or when nobody waits for it any more."""

from __future__ import annotations

import itertools
import socket
import sqlite3
import threading
import time
import zlib
from dataclasses import replace

import anyio
import anyio.to_thread
import pytest
from support.faulty_api import FaultyApi, answer, says

from anvil_core.air import Origin
from anvil_runtime import client
from anvil_runtime.execute import execute
from anvil_runtime.ledger import FILE_NAME
from anvil_runtime.plan import Plan
from anvil_runtime.retries import Pace
from anvil_runtime.server import sleep_in_worker

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
            got = client.send(*plan_for(port), answer_seconds=0.7)
        except (client.TimedOutError, client.BrokenError) as error:
            # A flood of headers or chunks ends earlier, at the limit of its size.
            assert pause == 0.0 or isinstance(error, client.TimedOutError) or "header" in name  # noqa: PT017
        else:
            assert (pause, got.cut) == (0.0, True)
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


def served(method: str, times: int) -> int:
    """How many connections so many requests take, one after another in one server's life."""

    async def run(url: str) -> None:
        plan, origin = plan_for(int(url.rpartition(":")[2]))
        async with client.Connections().closing() as connections:
            for _ in range(times):
                await client.exchange(replace(plan, method=method), origin, 5.0, connections)

    with FaultyApi([says(answer("200 OK", body=b"{}"))]) as api:
        anyio.run(run, api.url)
        assert api.requests == times
        return api.connections


def test_reads_share_a_connection():
    assert served("GET", 3) == 1


def test_a_mutation_has_one_of_its_own():
    """A shared one may be closed by the API just then, and nobody could tell whether it was carried out."""
    assert served("POST", 3) == 3


def test_calls_that_are_given_up_leave_the_shared_client_whole():
    async def run(url: str) -> client.Answer:
        plan, origin = plan_for(int(url.rpartition(":")[2]))
        async with client.Connections().closing() as connections:
            for many in (30, 30):
                with anyio.move_on_after(0.3):
                    async with anyio.create_task_group() as calls:
                        for _ in range(many):
                            calls.start_soon(client.exchange, plan, origin, 60.0, connections)
            return await client.exchange(replace(plan, path="/fine"), origin, 5.0, connections)

    def act(connection: socket.socket) -> None:
        if api.requests > 60:
            connection.sendall(answer("200 OK", body=b"{}"))
        else:
            connection.recv(1)  # nothing, until the client has gone

    with FaultyApi([act]) as api:
        assert anyio.run(run, api.url).status == 200
        assert api.requests == 61


def test_a_call_that_waits_for_another_with_its_key_is_given_up_at_once(executor, full):
    """It holds a thread of the server, and the server's end would wait for it."""
    one = replace(executor(), pace=Pace(sleep=sleep_in_worker))
    execute(one, "refund_create", full)
    with sqlite3.connect(one.folder.ready() / FILE_NAME) as file:
        file.execute("UPDATE calls SET state = 'reserved'")

    async def run() -> float:
        began = time.monotonic()
        with anyio.move_on_after(0.3):
            await anyio.to_thread.run_sync(execute, one, "refund_create", full)
        return time.monotonic() - began

    assert anyio.run(run) < 5

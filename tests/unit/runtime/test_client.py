"""The request as a real HTTP server receives it, byte for byte, and what is not followed or awaited."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from werkzeug import Response

from anvil_core.air import Origin
from anvil_runtime import client
from anvil_runtime.execute import Executor, execute
from anvil_runtime.origin import target
from anvil_runtime.plan import Plan, make_plan


@contextmanager
def raw_server(answer: bytes, *, seconds: float = 0.0, drip: bool = False):
    """A socket server that keeps the request's bytes and writes what it is told."""
    listener = socket.create_server(("127.0.0.1", 0))
    got: list[bytes] = []

    def work() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                got.append(_whole_request(connection))
                for part in [bytes([byte]) for byte in answer] if drip else [answer]:
                    time.sleep(seconds)
                    try:
                        connection.sendall(part)
                    except OSError:
                        return

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], got
    finally:
        listener.close()


def _whole_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    lengths = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")]
    while lengths and len(body) < lengths[0]:
        more = connection.recv(65536)
        body, data = body + more, data + more
    return data


def plan_for(port: int, **more) -> tuple[Plan, Origin]:
    origin = Origin(scheme="http", host="127.0.0.1", port=port)
    data = {
        "method": "GET",
        "path": "/x",
        "query": "",
        "headers": (("Accept", "*/*"),),
        "body": None,
        "media_type": None,
    }
    return Plan(**{**data, **more}, base=str(origin)), origin


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def test_the_bytes_of_a_request_are_those_of_the_plan(contract, operation, full):
    with raw_server(OK) as (port, got):
        goal = target(contract().service, {"ANVIL_BASE_URL": f"http://127.0.0.1:{port}"})
        charge = "a/b?c#d %41;=ü"
        plan = make_plan(operation(), {**full, "charge": charge, "expand": ["x y", "[z]&q=1"]}, goal)
        client.send(plan, goal.origin)
    head, _, body = got[0].partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    assert lines[0] == (
        "POST /api/v1/charges/a%2Fb%3Fc%23d%20%2541%3B%3D%C3%BC/refunds"
        "?expand=x%20y&expand=%5Bz%5D%26q%3D1 HTTP/1.1"
    )
    assert sorted(lines[1:]) == [
        "Accept-Encoding: identity",
        "Accept: application/json",
        "Content-Length: 12",
        "Content-Type: application/json",
        f"Host: 127.0.0.1:{port}",
        "Idempotency-Key: key-0001",
        "User-Agent: anvil-runtime",
        "X-Version: 7",
    ]
    assert body == b'{"amount":5}'


@pytest.mark.parametrize(
    "path", ["/a;b=c/d,e", "/.hidden/..x/...", "/a%2E%2E/b", "/a//b/", "/@x:y/~z", "/%7Bx%7D"]
)
def test_a_path_arrives_as_it_was_planned(path):
    with raw_server(OK) as (port, got):
        client.send(*plan_for(port, path=path, query="a=/?:@!$'()*,;&b=%2C"))
    assert got[0].split(b"\r\n")[0] == f"GET {path}?a=/?:@!$'()*,;&b=%2C HTTP/1.1".encode()


def test_a_real_call_through_all_gates(httpserver, contract, full, upstream):
    httpserver.expect_request("/api/v1/charges/ch_1/refunds", method="POST").respond_with_json({"id": "re_9"})
    from anvil_runtime.bundle import Bundle

    executor = Executor(Bundle(contract()), environ={"ANVIL_BASE_URL": httpserver.url_for("")})
    assert execute(executor, "refund_create", full).envelope == {"data": {"id": "re_9"}}
    assert (
        execute(executor, "refund_create", {**full, "confirm": "true"}).refusal.code
        == "confirmation_required"
    )
    assert execute(executor, "refund_create", {**full, "dry_run": True}).envelope["sends"] is False
    assert len(httpserver.log) == 1
    assert httpserver.log[0][0].headers["Idempotency-Key"] == "key-0001"


def test_a_redirect_is_not_followed(httpserver, contract, full):
    from anvil_runtime.bundle import Bundle

    with raw_server(OK) as (port, got):
        there = f"http://127.0.0.1:{port}/elsewhere"
        httpserver.expect_request("/api/v1/charges/x").respond_with_response(
            Response("", 307, {"Location": there})
        )
        executor = Executor(Bundle(contract()), environ={"ANVIL_BASE_URL": httpserver.url_for("")})
        error = execute(executor, "charge_get", {"charge": "x"}).envelope["error"]
        assert got == []
    assert error["code"] == "upstream_error"
    assert "redirects are never followed" in error["message"]
    assert there in error["message"]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_no_proxy_from_the_environment(monkeypatch, variable):
    with raw_server(OK) as (port, got), raw_server(OK) as (proxy, proxied):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        client.send(*plan_for(port))
    assert (len(got), len(proxied)) == (1, 0)


def test_no_netrc(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with raw_server(OK) as (port, got):
        client.send(*plan_for(port))
    assert b"authorization" not in got[0].lower()


def test_a_plan_for_elsewhere_does_not_leave():
    with raw_server(OK) as (port, got):
        plan, _ = plan_for(port)
        with pytest.raises(client.OriginChangedError, match=r"the contract pins https://api\.shop\.example"):
            client.send(plan, Origin(scheme="https", host="api.shop.example", port=443))
        with pytest.raises(client.OriginChangedError):
            client.send(plan, Origin(scheme="http", host="127.0.0.1", port=port + 1))
    assert got == []


@pytest.mark.parametrize("before", ["http://localhost", "http://user@127.0.0.1", "http://u:p@127.0.0.1"])
def test_nor_does_one_to_another_name_of_the_host_or_with_a_user(before):
    with raw_server(OK) as (port, got):
        plan, origin = plan_for(port)
        with pytest.raises(client.OriginChangedError):
            client.send(replace(plan, base=f"{before}:{port}"), origin)
    assert got == []


def test_an_answer_is_kept_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(client, "LARGEST_ANSWER", 1000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n"
    with raw_server(head + b"x" * 5000) as (port, _):
        answer = client.send(*plan_for(port))
    assert (len(answer.body), answer.cut) == (1000, True)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(client.NotSentError, match="no connection to http"):
        client.send(*plan_for(port))


def test_no_answer_in_time():
    with raw_server(OK, seconds=2.0) as (port, _), pytest.raises(client.TimedOutError):
        client.send(*plan_for(port), answer_seconds=0.3)


def test_an_answer_that_drips_is_too_slow():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    with (
        raw_server(head + b"x" * 100, seconds=0.02, drip=True) as (port, _),
        pytest.raises(client.TimedOutError),
    ):
        client.send(*plan_for(port), answer_seconds=1.2)


def test_a_connection_that_breaks():
    with raw_server(b"") as (port, _), pytest.raises(client.BrokenError):
        client.send(*plan_for(port))

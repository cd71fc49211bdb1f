"""What comes of a call when the API fails: outcome, requests sent, envelope.

The whole is docs/reference/faults.md; ``ANVIL_WRITE_DOCS=1`` writes it.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from support.faulty_api import FINE, FaultyApi, answer, drips, resets, says, self_signed

from anvil_runtime import client
from anvil_runtime.execute import Executor, execute
from anvil_runtime.retries import MOST_TRIES, Pace
from anvil_runtime.spill import Spill

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "faults.md"
LARGE = 50 * 1024 * 1024
WELL = says(answer("200 OK", body=FINE))
PROBLEM = answer("422 No", body=b'{"title": "No", "detail": "too much"}').replace(b"/json", b"/problem+json")
FAULTS = {
    "connection refused": None,
    "reset in the middle of the answer": [resets(answer("200 OK", body=b'{"id": ', length=400))],
    "reset before any answer": [resets(b"")],
    "headers that do not end": [drips(b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 999, 0.02)],
    "429 with Retry-After, then 200": [says(answer("429 Too Many", "Retry-After: 1")), WELL],
    "429 with Retry-After of an hour": [says(answer("429 Too Many", "Retry-After: 3600"))],
    "503, then 200": [says(answer("503 Busy")), WELL],
    "500": [says(answer("500 Error"))],
    "409": [says(answer("409 Conflict"))],
    "422 with a problem": [says(PROBLEM)],
    "redirect elsewhere": [says(answer("307 Away", "Location: http://127.0.0.1:9/"))],
    "200 that is not JSON": [says(answer("200 OK", body=b"<html>"))],
    "200 of 50 MB": [says(answer("200 OK", body=b'"' + b"x" * LARGE + b'"'))],
    "a certificate that nobody trusts": "tls",
}  # fmt: skip
READ, KEYED, PLAIN = "read", "mutation under a key", "mutation without a key"
CALLS = (READ, KEYED, PLAIN)


@dataclass(frozen=True)
class Row:
    """One line of the page."""

    fault: str
    call: str
    outcome: str
    requests: int
    retryable: str
    safe: str
    key: str

    def __str__(self) -> str:
        said = (self.fault, self.call, self.outcome, str(self.requests), self.retryable, self.safe, self.key)
        return f"| {' | '.join(said)} |"


@pytest.fixture
def shop(contract, tmp_path):
    """A function: an executor for one kind of call, with real sockets, a short deadline and no waiting."""

    def make(kind: str, url: str) -> tuple[Executor, str, dict]:
        from anvil_runtime.bundle import Bundle
        from anvil_runtime.state import StateFolder

        changes = {"retries": "safe"}
        name, args = "refund_create", {"charge": "ch_1", "body": {"amount": 5}, "confirm": True}
        if kind == READ:
            name, args = "charge_get", {"charge": "ch_1"}
        elif kind == KEYED:
            args["idempotency_key"] = "key-0001"
        else:
            changes |= {"idempotency": {"mode": "none"}, "controls": {"confirm": "confirm"}}
        one = Executor(
            Bundle(contract(name, **changes)),
            environ={"ANVIL_BASE_URL": url},
            state=StateFolder(str(tmp_path / "kept")),
            pace=Pace(sleep=lambda _seconds: None),
        )
        send = partial(client.send, answer_seconds=2.0, spill=one.spill)
        return replace(one, send=send), name, args

    return make


def api_of(fault: str, folder: Path) -> FaultyApi:
    how = FAULTS[fault]
    if how is None:
        made = FaultyApi([])
        made.listener.close()
        return made
    return (
        FaultyApi([says(answer("200 OK", body=FINE))], self_signed(folder))
        if how == "tls"
        else FaultyApi(how)
    )


def fate_of_the_key(executor: Executor, name: str, args: dict, api: FaultyApi) -> str:
    """Whether the key is taken, asked with another body at an API that is well."""
    with FaultyApi([WELL]) as well:
        url = well.url
        other = replace(
            executor, environ={"ANVIL_BASE_URL": api.url}, send=lambda plan, _origin: sent(plan, url)
        )
        outcome = execute(other, name, {**args, "body": {"amount": 6}})
    return "free" if outcome.refusal is None else "taken"


def sent(plan, url: str) -> client.Answer:
    port = int(url.rpartition(":")[2])
    from anvil_core.air import Origin

    return client.send(replace(plan, base=url), Origin(scheme="http", host="127.0.0.1", port=port))


def run(fault: str, kind: str, shop, folder: Path) -> Row:
    with api_of(fault, folder) as api:
        executor, name, args = shop(kind, api.url)
        outcome = execute(executor, name, args)
        requests = api.requests
        key = fate_of_the_key(executor, name, args, api) if kind == KEYED else "-"
    envelope = outcome.envelope
    error = envelope.get("error")
    if error:
        yes = {True: "yes", False: "no"}
        return Row(
            fault,
            kind,
            f"`{error['code']}`",
            requests,
            yes[error["retryable"]],
            yes[error["safe_to_retry"]],
            key,
        )
    what = next(part for part in ("file", "violations", "data") if part in envelope)
    said = {
        "file": "the answer, in a file",
        "violations": "the answer, raw, with what is wrong",
        "data": "the answer",
    }
    return Row(fault, kind, said[what], requests, "-", "-", key)


@pytest.mark.timeout(120)
def test_every_fault(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("anvil_runtime.sending.WAIT_SECONDS", 0)
    rows = []
    for number, (fault, kind) in enumerate((fault, kind) for fault in FAULTS for kind in CALLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        one = lambda kind, url, folder=folder: with_state(shop(kind, url), folder)  # noqa: E731
        rows.append(run(fault, kind, one, folder))
    for row in rows:
        if row.call == PLAIN:
            assert row.requests <= 1, f"sent twice, and nothing tells the second from the first: {row}"
        assert row.requests <= MOST_TRIES, row
        if row.outcome.startswith("the answer"):
            assert row.key in ("-", "taken"), f"what was carried out could be done again under its key: {row}"
    text = page(rows)
    if os.environ.get("ANVIL_WRITE_DOCS"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "the page is old: see the top of this module"


def with_state(made, folder: Path):
    from anvil_runtime.state import StateFolder

    executor, name, args = made
    one = replace(executor, state=StateFolder(str(folder / "kept")))
    return replace(one, send=partial(client.send, answer_seconds=2.0, spill=one.spill)), name, args


def page(rows: list[Row]) -> str:
    head = """# When the API fails

Made by `tests/unit/runtime/test_faults.py` against a local API with real sockets. *Requests* are whole ones
that reached the API. *Key*: whether another body may use the same idempotency key afterwards. Retries are
those of an operation with `retries: safe`. A mutation without a key whose method does not make it idempotent
is never sent twice unless its request did not leave, and what a person approved is not, whatever its method.

| the API | the call | outcome | requests | retryable | safe to retry | key |
| --- | --- | --- | --- | --- | --- | --- |
"""
    return head + "\n".join(map(str, rows)) + "\n"


def test_the_words_of_a_problem_are_in_the_message(shop, tmp_path):
    with api_of("422 with a problem", tmp_path) as api:
        executor, name, args = shop(KEYED, api.url)
        message = execute(executor, name, args).refusal.message
    assert message.endswith("it answered 422 No: No: too much.")


def test_a_large_answer_is_whole_in_its_file(shop, tmp_path):
    with api_of("200 of 50 MB", tmp_path) as api:
        executor, name, args = shop(READ, api.url)
        file = execute(executor, name, args).envelope["file"]
    assert Path(file["path"]).stat().st_size == file["bytes"] == LARGE + 2
    assert Path(file["path"]).stat().st_mode & 0o777 == 0o600


def test_a_broken_large_answer_leaves_no_file(shop, tmp_path):
    with FaultyApi([resets(answer("200 OK", body=b"x" * (4 * 1024 * 1024), length=LARGE))]) as api:
        executor, name, args = shop(READ, api.url)
        assert execute(executor, name, args).refusal.code == "upstream_error"
    folder = Path(executor.folder.name) / "answers"
    assert not folder.exists() or list(folder.iterdir()) == []


def test_without_a_folder_a_large_answer_is_cut(shop, tmp_path):
    with api_of("200 of 50 MB", tmp_path) as api:
        executor, name, args = shop(READ, api.url)
        Path(executor.folder.ready()).chmod(0o755)
        envelope = execute(executor, name, args).envelope
    assert any("is cut after" in one for one in envelope["violations"])


def test_a_disk_that_is_full_cuts_the_answer_and_hides_no_success(shop, tmp_path, monkeypatch):
    start = Spill.start

    def on_a_full_disk(spill):
        writer = start(spill)
        os.close(writer._file)
        writer._file = os.open("/dev/full", os.O_WRONLY)
        return writer

    monkeypatch.setattr(Spill, "start", on_a_full_disk)
    with api_of("200 of 50 MB", tmp_path) as api:
        executor, name, args = shop(PLAIN, api.url)
        envelope = execute(executor, name, args).envelope
    assert any("is cut after" in one for one in envelope["violations"])
    assert any("was carried out" in one for one in envelope["violations"])
    assert list((Path(executor.folder.name) / "answers").iterdir()) == []


def test_the_port_of_a_refused_connection_is_closed():
    """The first fault is one: else the table would say nothing of it."""
    with api_of("connection refused", Path()) as api, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(api.url.rpartition(":")[2])))

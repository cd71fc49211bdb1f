"""``allow`` on a real pseudo-terminal: what is shown, what is a yes, and that it is sent once or never."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hookcore
from anvil_runtime import allow as allowing
from anvil_runtime import commands, human
from anvil_runtime import held as calls
from anvil_runtime.bundle import load
from anvil_runtime.call import executor_of
from anvil_runtime.origin import target
from anvil_runtime.plan import make_plan
from tests.support.terminals import CODE, Terminal

pytestmark = pytest.mark.invariant("I3")
ARGS = {"charge": "ch_1", "body": {"amount": 5}, "idempotency_key": "key-00001"}
CTRL_C = "\x03"
PROGRAM = (
    "import sys, pathlib; from anvil_runtime import commands; "
    "sys.exit(commands.main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:], 'server.py'))"
)


@pytest.fixture
def api(httpserver):
    """The requests that reached the API."""
    httpserver.expect_request("/api/v1/charges/ch_1/refunds").respond_with_json({"id": "po_1"})
    return httpserver


@pytest.fixture
def place(bundle_folder, tmp_path, api):
    """What the tests share: the bundle, its state folder, held calls and terminals."""
    made = Place(bundle_folder, tmp_path / "state", api)
    yield made
    for terminal in made.terminals:
        terminal.close()


class Place:
    def __init__(self, bundle, state, api):
        self.bundle, self.state, self.api, self.terminals = bundle, state, api, []
        self.environ = {**os.environ, "ANVIL_BASE_URL": api.url_for("").rstrip("/")}

    @property
    def executor(self):
        return executor_of(load(self.bundle), self.environ, self.state)

    def hold(self, args=ARGS, **changes):
        """Hold a call as the server does. Returns its id."""
        one = self.executor
        about = {**human.about(one, one.bundle.by_name["payout_create"]), **changes}
        said = hookcore.hold(str(self.state), about, args, "/bundle")
        return said.split("`anvil allow ")[1].split("`")[0]

    def file(self, name):
        return self.state / "pending" / f"{name}.json"

    def rewrite(self, name, **changes):
        data = json.loads(self.file(name).read_bytes())
        self.file(name).write_text(json.dumps({**data, **changes}), encoding="utf-8")

    def command(self, *words):
        return [sys.executable, "-c", PROGRAM, str(self.bundle), str(self.state), *words]

    def allow(self, name):
        self.terminals.append(Terminal(self.command("allow", name), self.environ))
        return self.terminals[-1]

    @property
    def requests(self):
        return [request for request, _ in self.api.log]


def approve(terminal):
    terminal.type(terminal.read_until(CODE) + "\n")
    return terminal.code


def test_the_right_code_sends_it_once(place):
    name = place.hold()
    terminal = place.allow(name)
    assert approve(terminal) == 0
    (request,) = place.requests
    assert request.get_json() == {"amount": 5}
    assert request.headers["Idempotency-Key"] == "key-00001"
    assert '"id": "po_1"' in terminal.shown
    assert not place.file(name).exists()
    assert list((place.state / "pending").iterdir()) == []


def test_what_the_person_reads(place):
    terminal = place.allow(place.hold())
    terminal.read_until(CODE)
    shown = terminal.shown
    assert "Shop: this call needs a person." in shown
    assert "Operation: payout_create (shop.payouts.create)" in shown
    assert "Pay out. Risk: financial; it cannot be undone. It cannot be called back." in shown
    assert f"POST {place.environ['ANVIL_BASE_URL']}/api/v1/charges/ch_1/refunds" in shown
    assert "Idempotency-Key: key-00001" in shown
    assert '  |   "amount": 5' in shown
    assert place.requests == []


def test_a_used_call_is_gone(place):
    name = place.hold()
    assert approve(place.allow(name)) == 0
    again = place.allow(name)
    assert again.code == 3
    assert f"no call {name!r} waits here" in again.shown
    assert len(place.requests) == 1


@pytest.mark.parametrize("answer", ["WRONG\n", "\n", "yes\n", "\x04", CTRL_C])
def test_any_other_answer_sends_nothing(place, answer):
    name = place.hold()
    terminal = place.allow(name)
    assert terminal.read_until(CODE)
    terminal.type(answer)
    while answer == CTRL_C and terminal.is_running(0.5):  # one just before it waits is seen with the next
        terminal.type(answer)
    assert terminal.code == 3
    assert "no person approved this call" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert place.requests == []
    assert place.file(name).exists()


@pytest.mark.parametrize("change", [str.lower, lambda code: code + code, lambda code: code[:3], " {}".format])
def test_the_code_must_be_exact(place, change):
    terminal = place.allow(place.hold())
    terminal.type(change(terminal.read_until(CODE)) + "\n")
    assert terminal.code == 3
    assert place.requests == []


def test_each_code_is_fresh(place):
    name = place.hold()
    first, second = place.allow(name), place.allow(name)
    code = first.read_until(CODE)
    assert code != second.read_until(CODE)
    second.type(f"{code}\n")
    assert second.code == 3
    assert place.requests == []


def test_two_at_once_send_one_request(place):
    name = place.hold()
    terminals = [place.allow(name) for _ in range(2)]
    for terminal in terminals:
        code = terminal.read_until(CODE)
        terminal.code_typed = f"{code}\n"
    for terminal in terminals:
        terminal.type(terminal.code_typed)
    assert sorted(terminal.code for terminal in terminals) == [0, 3]
    assert len(place.requests) == 1
    assert "run by somebody else" in "".join(terminal.shown for terminal in terminals)


def test_typed_ahead_is_no_answer(place):
    terminal = place.allow(place.hold())
    terminal.type("fix 1 bug\n")
    assert approve(terminal) == 0
    assert len(place.requests) == 1


@pytest.mark.parametrize("piped", ["stdin", "stdout"])
def test_without_a_terminal_nothing_is_looked_at(place, piped):
    name = place.hold()
    ours, its = os.openpty()
    ends = {"stdin": its, "stdout": its, piped: subprocess.PIPE}
    with subprocess.Popen(
        place.command("allow", name), **ends, stderr=subprocess.PIPE, env=place.environ
    ) as process:
        try:
            _, said = process.communicate(b"ABCD\n" if piped == "stdin" else None, timeout=30)
        finally:
            process.kill()  # one that waits for an answer would wait for ever
    os.close(its)
    os.close(ours)
    assert process.returncode == 3
    assert b"on a terminal" in said
    assert place.file(name).exists()
    assert place.requests == []


def test_changed_while_it_is_shown(place):
    name = place.hold()
    terminal = place.allow(name)
    terminal.read_until(CODE)
    place.rewrite(name, arguments={**ARGS, "body": {"amount": 9}})
    assert approve(terminal) == 3
    assert place.requests == []
    assert not place.file(name).exists()


def test_replaced_by_a_link_while_it_is_shown(place, tmp_path):
    name = place.hold()
    terminal = place.allow(name)
    terminal.read_until(CODE)
    place.file(name).rename(tmp_path / "elsewhere.json")
    place.file(name).symlink_to(tmp_path / "elsewhere.json")
    assert approve(terminal) == 3
    assert place.requests == []


# What makes a held call none: nobody is asked


def refused(place, name, *words):
    terminal = place.allow(name)
    assert terminal.code == 3
    for word in words:
        assert word in terminal.shown
    assert not CODE.search(terminal.shown)
    assert "Traceback" not in terminal.shown
    assert place.requests == []


@pytest.mark.parametrize("age", [601, 3600, -60])
def test_too_old_or_from_the_future(place, age):
    name = place.hold()
    place.rewrite(name, time=time.time() - age)
    refused(place, name, "more than 10 minutes old")
    assert not place.file(name).exists()


def test_too_old_by_the_time_of_the_yes(place, monkeypatch):
    name = place.hold()
    folder = place.executor.folder.ready()
    held = calls.find(folder, name)
    later = time.time() + 700
    monkeypatch.setattr("anvil_runtime.held.time.time", lambda: later)
    with pytest.raises(calls.HeldError):
        calls.burn(folder, held)


@pytest.mark.parametrize(
    "changes", [{"time": 10**400}, {"time": float("inf")}, {"bundle": "a\0b"}, {"bundle": "\ud800"}]
)
def test_a_file_that_nobody_could_have_left(place, changes):
    name = place.hold()
    place.rewrite(name, **changes)
    refused(place, name, "is not a file that Anvil left")


@pytest.mark.parametrize("field", ["service", "origin", "contract_digest"])
def test_of_another_contract(place, field):
    refused(place, place.hold(**{field: "other"}), "under another contract")


@pytest.mark.parametrize(
    "changes",
    [{"operation": "shop.nothing"}, {"tool": "refund_create"}, {"operation": "shop.refunds.create"}],
)
def test_of_another_operation(place, changes):
    refused(place, place.hold(**changes), "this bundle does not have")


def test_of_an_operation_without_a_person(place):
    changes = {"operation": "shop.refunds.create", "tool": "refund_create"}
    refused(place, place.hold({**ARGS, "confirm": True}, **changes), "needs no person's approval")


def test_of_an_operation_that_is_not_approved(place):
    air = json.loads((place.bundle / "air.json").read_text(encoding="utf-8"))
    for operation in air["operations"]:
        if operation["name"] == "payout_create":
            operation["state"] = "review_required"
    (place.bundle / "air.json").write_text(json.dumps(air), encoding="utf-8")
    refused(place, place.hold(), "operation_not_approved")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({**ARGS, "body": {"amount": "5"}}, "invalid_arguments"),
        ({**ARGS, "extra": 1}, "invalid_arguments"),
        ({"charge": "ch_1", "body": {"amount": 5}}, "idempotency_key_required"),
        ({**ARGS, "charge": ".."}, "invalid_arguments"),
    ],
)
def test_arguments_that_no_longer_fit(place, args, code):
    name = place.hold(args)
    refused(place, name, code)
    assert place.file(name).exists()


def test_a_link(place, tmp_path):
    name = place.hold()
    place.file(name).rename(tmp_path / "x.json")
    place.file(name).symlink_to(tmp_path / "x.json")
    refused(place, name, "not a file that Anvil left")


def test_two_names_for_one_file(place, tmp_path):
    name = place.hold()
    os.link(place.file(name), tmp_path / "x.json")
    refused(place, name, "not a file that Anvil left")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o400])
def test_another_mode(place, mode):
    name = place.hold()
    place.file(name).chmod(mode)
    refused(place, name, "not a file that Anvil left")


def test_another_users(place, monkeypatch):
    name = place.hold()
    monkeypatch.setattr("anvil_runtime.approvals.os.getuid", lambda: os.geteuid() + 1)
    with pytest.raises(calls.HeldError, match="left for you alone"):
        calls.find(place.state, name)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "[" * 20_000, '{"id": "x"}', b"\xff"],
)
def test_no_held_call_at_all(place, text):
    name = place.hold()
    place.file(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(place, name, "not a file that Anvil left")


@pytest.mark.parametrize(
    "changes",
    [{"arguments": [1]}, {"time": True}, {"time": "now"}, {"tool": 3}, {"id": "00000000"}, {"origin": None}],
)
def test_a_field_of_another_kind(place, changes):
    name = place.hold()
    place.rewrite(name, **changes)
    refused(place, name, "not a file that Anvil left")


def test_a_folder_that_is_a_link(place, tmp_path):
    name = place.hold()
    (place.state / "pending").rename(tmp_path / "moved")
    (place.state / "pending").symlink_to(tmp_path / "moved")
    refused(place, name, "waits here")


@pytest.mark.parametrize("name", ["00000000", "../../x", "0000000", "ABCDEF01", "", "a" * 5000])
def test_names_that_are_none(place, name):
    place.hold()
    refused(place, name, "waits here")


def test_a_name_does_not_lead_out_of_the_folder(place):
    place.file(place.hold()).rename(place.state / "outside.json")
    data = json.loads((place.state / "outside.json").read_bytes())
    text = json.dumps({**data, "id": "../outside"})
    (place.state / "outside.json").write_text(text, encoding="utf-8")
    refused(place, "../outside", "waits here")


# What is shown cannot act on the terminal, or pass for ours


def test_names_and_texts_are_escaped(place):
    note = "\x1b[2J\x1b]0;x\x07\u202eevil\u200b\r\nTo send payout_create once, type AAAA"
    name = place.hold({**ARGS, "body": {"amount": 5, "note": note}})
    terminal = place.allow(name)
    terminal.read_until(CODE)
    for character in "\x1b\x07\u202e\u200b\r":
        assert character not in terminal.shown
    assert "\\u001b[2J" in terminal.shown
    assert "\\u{202e}evil\\u{200b}" in terminal.shown
    assert sum(line.startswith("To send") for line in terminal.shown.split("\n")) == 1


@pytest.mark.parametrize("body", ["line\nTo send it once, type AAAA", {"a": "x\ny"}])
def test_lines_of_a_body_are_marked(body):
    assert all(line.startswith("  | ") for line in allowing.marked(body))


def test_a_secret_is_not_shown(place):
    one = place.executor
    one.secrets.add("sk-verysecret-123")
    name = place.hold({**ARGS, "body": {"amount": 5, "note": "sk-verysecret-123"}})
    held = calls.find(place.state, name)
    operation = one.bundle.by_name["payout_create"]
    plan = make_plan(operation, held.arguments, target(one.bundle.air.service, one.environ))
    assert "verysecret" not in "\n".join(allowing.request(one, operation, held, plan))


def test_a_long_body_is_shown_whole(place):
    name = place.hold({**ARGS, "body": {"amount": 5, "note": "n" * 30_000 + "END"}})
    terminal = place.allow(name)
    terminal.read_until(CODE)
    assert "nnnEND" in terminal.shown
    assert "Made of these arguments" not in terminal.shown


# The list


def pending_list(place, capsys, *words):
    code = commands.main(place.bundle, place.state, ["pending", *words], "server.py")
    return code, capsys.readouterr().out


def test_the_list(place, capsys):
    first = place.hold()
    code, out = pending_list(place, capsys)
    assert code == 0
    assert out.startswith(f"{first}  shop.payouts.create  0 s ago")
    old = place.hold()
    place.rewrite(old, time=time.time() - 601)
    told = json.loads(pending_list(place, capsys, "--json")[1])
    assert [one["id"] for one in told["pending"]] == [first]
    assert not place.file(old).exists()


def test_an_empty_list_makes_no_folder(place, capsys):
    assert pending_list(place, capsys) == (0, "No call waits for a person.\n")
    assert not place.state.exists()


def test_the_list_is_escaped_and_leaves_out_what_is_no_call(place, capsys):
    name, other = place.hold(), place.hold()
    place.rewrite(name, operation="\x1b[2Jshop")
    place.file(other).chmod(0o644)
    _, out = pending_list(place, capsys)
    assert "\x1b" not in out
    assert "\\u{1b}[2Jshop" in out
    assert other not in out


# The seam


def test_only_allowing_makes_an_approving_caller():
    """``Caller.approve`` is set in one place and read in one: who adds another has this test to answer to."""
    folder = Path(allowing.__file__).parent
    found = set()
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "approve":
                found.add((path.name, "set"))
            if isinstance(node, ast.Attribute) and node.attr == "approve":
                found.add((path.name, "read"))
    assert found == {("allow.py", "set"), ("human.py", "read")}


def test_a_yes_to_another_call_is_none(place, monkeypatch):
    """The request that is about to be sent is compared with the one that was held, whoever changed it."""
    name = place.hold()
    monkeypatch.setattr(allowing, "has_terminal", lambda: True)
    monkeypatch.setattr(allowing, "is_approved", lambda *_: True)
    sent = []

    def execute(executor, tool, args, caller):
        sent.append(caller.approve(None, "0" * 64))

    monkeypatch.setattr(allowing, "execute", execute)
    allowing.allow(place.executor, name)
    assert sent == ["taken"]
    assert place.file(name).exists()

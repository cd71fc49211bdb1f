"""``allow``: a person at a terminal, here a pseudo-terminal, runs a call that waits; nothing else can."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anvil_runtime import allow, held
from anvil_runtime.bundle import load
from anvil_runtime.caller import Caller
from anvil_runtime.execute import Executor, execute
from anvil_runtime.held import HeldError
from anvil_runtime.state import StateFolder

RUN = (
    "import sys; from pathlib import Path; from anvil_runtime.commands import main; "
    "sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:], 'server.py'))"
)
ARGS = {"charge": "ch_1", "body": {"amount": 5}, "idempotency_key": "key-0001"}
CODE = re.compile(r"type ([A-Z]{4}) and press Enter")


@pytest.fixture
def state(tmp_path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def waits(bundle_folder, state):
    """A function: the id of a call that the server has just refused for want of a person."""

    def make(**changes) -> str:
        one = Executor(load(bundle_folder), environ={}, state=StateFolder(str(state)))
        one = Executor(one.bundle, environ={"ANVIL_BASE_URL": "http://127.0.0.1:9"}, state=one.state)
        refusal = execute(one, "payout_create", {**ARGS, **changes}, Caller("mcp", "somebody", "1")).refusal
        assert refusal.code == "human_approval_required"
        return re.search(r"anvil allow ([0-9a-f]{8})", refusal.message)[1]

    return make


@pytest.fixture
def api(httpserver):
    httpserver.expect_request(re.compile("/api/.*")).respond_with_json({"id": "po_1"})
    return httpserver


class Person:
    """Somebody at a terminal of their own."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
        )
        os.close(theirs)
        self.terminal, self.seen = ours, ""

    def read(self, pattern: str, seconds: float = 20) -> re.Match[str]:
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < until, f"{pattern!r} did not come: {self.seen}"
            self._more()
        return found

    def _more(self) -> bool:
        if select.select([self.terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(self.terminal, 65536)
            except OSError:  # the program has ended
                return False
            self.seen += piece.decode(errors="replace")
        return True

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def end(self) -> tuple[int, str]:
        until = time.monotonic() + 30
        while time.monotonic() < until and self._more() and self.process.poll() is None:
            pass
        code = self.process.wait(30)
        while select.select([self.terminal], [], [], 0.1)[0] and self._more() and self.process.poll() is None:
            pass
        os.close(self.terminal)
        return code, self.seen


@pytest.fixture
def person(bundle_folder, state, api):
    """A function: a person who has just started ``allow ID``."""

    def start(name: str) -> Person:
        command = [sys.executable, "-c", RUN, str(bundle_folder), str(state), "allow", name]
        return Person(command, {**os.environ, "ANVIL_BASE_URL": f"http://127.0.0.1:{api.port}"})

    return start


def waiting(state: Path) -> list[str]:
    return [one.data["id"] for one in held.all_of(state)]


@pytest.mark.invariant("I3")
def test_the_right_code_sends_it_once(person, waits, state, api):
    name = waits()
    me = person(name)
    code = me.read(CODE.pattern)[1]
    assert '"url": "http://127.0.0.1' in me.seen
    assert "payout_create" in me.seen
    me.type(code + "\n")
    ended, seen = me.end()
    assert ended == 0
    assert "po_1" in seen
    assert len(api.log) == 1
    assert waiting(state) == []
    assert person(name).end()[0] == 3
    assert len(api.log) == 1


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("typed", ["\n", "yes\n", "AAAA\n", "\x04", "lower", "with a blank"])
def test_anything_else_leaves_it(person, waits, state, api, typed):
    name = waits()
    me = person(name)
    code = me.read(CODE.pattern)[1]
    typed = {"lower": code.lower() + "\n", "with a blank": f" {code}\n"}.get(typed, typed)
    me.type(typed)
    ended, seen = me.end()
    assert (ended, len(api.log)) == (3, 0)
    assert "Nothing was sent" in seen
    assert waiting(state) == [name]


def test_ctrl_c_leaves_it(person, waits, state, api):
    name = waits()
    me = person(name)
    me.read(CODE.pattern)
    for _ in range(50):  # a signal just before the program waits for keys is seen with the next one
        os.kill(me.process.pid, signal.SIGINT)
        time.sleep(0.2)
        if me.process.poll() is not None:
            break
    ended, seen = me.end()
    assert (ended, len(api.log), waiting(state)) == (3, 0, [name])
    assert "Traceback" not in seen


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("which", ["stdin", "stdout"])
def test_without_a_terminal_nothing_is_asked(bundle_folder, waits, state, api, which):
    name = waits()
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, which: subprocess.PIPE}
    command = [sys.executable, "-c", RUN, str(bundle_folder), str(state), "allow", name]
    environ = {**os.environ, "ANVIL_BASE_URL": f"http://127.0.0.1:{api.port}"}
    done = subprocess.Popen(command, stderr=subprocess.PIPE, env=environ, text=True, **streams)
    _, said = done.communicate("AAAA\n" if which == "stdin" else None, timeout=30)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 3
    assert "for a person at a terminal" in said
    assert (len(api.log), waiting(state)) == (0, [name])


def test_of_two_persons_one_sends(person, waits, api):
    name = waits()
    both = [person(name), person(name)]
    codes = [one.read(CODE.pattern)[1] for one in both]
    for one, code in zip(both, codes, strict=True):
        one.type(code + "\n")
    assert sorted(one.end()[0] for one in both) == [0, 3]
    assert len(api.log) == 1


def file_of(state: Path, name: str) -> Path:
    return state / "pending" / f"{name}.json"


def edit(state: Path, name: str, **changes) -> None:
    path = file_of(state, name)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), encoding="ascii")


HARM = {
    "too old": lambda state, name: edit(state, name, time=time.time() - 601),
    "from the future": lambda state, name: edit(state, name, time=time.time() + 60),
    "another contract": lambda state, name: edit(state, name, contract_digest="0" * 64),
    "another origin": lambda state, name: edit(state, name, origin="https://evil.example"),
    "another operation": lambda state, name: edit(state, name, tool="charge_get"),
    "another id inside": lambda state, name: edit(state, name, id="0" * 8),
    "no arguments": lambda state, name: edit(state, name, arguments=[]),
    "arguments that do not fit": lambda state, name: edit(state, name, arguments={"charge": 5}),
    "others can read it": lambda state, name: file_of(state, name).chmod(0o644),
    "a second name": lambda state, name: os.link(file_of(state, name), state / "other"),
    "not JSON": lambda state, name: file_of(state, name).write_text("{", encoding="ascii"),
}


def linked(state: Path, name: str) -> None:
    path = file_of(state, name)
    path.rename(state / "elsewhere")
    path.symlink_to(state / "elsewhere")


@pytest.mark.parametrize("harm", [*HARM, "a link"])
def test_what_was_tampered_with_is_not_run(person, waits, state, api, harm):
    name = waits()
    {**HARM, "a link": linked}[harm](state, name)
    me = person(name)
    ended, seen = me.end()
    assert (ended, len(api.log)) == (3, 0)
    assert "Traceback" not in seen
    assert not CODE.search(seen)


def test_what_changes_under_the_persons_eyes_is_not_run(person, waits, state, api):
    name = waits()
    me = person(name)
    code = me.read(CODE.pattern)[1]
    edit(state, name, arguments={**ARGS, "body": {"amount": 5000}})
    me.type(code + "\n")
    ended, seen = me.end()
    assert (ended, len(api.log)) == (3, 0)
    assert "was changed while you looked at it" in seen


@pytest.mark.parametrize("name", ["../../x", "", "0123456", "ABCDEF01", "a/b", "00000000"])
def test_an_id_is_an_id(tmp_path, name):
    with pytest.raises(HeldError):
        held.read(tmp_path, name)


def test_what_is_shown_is_escaped(person, waits, api):
    me = person(waits(charge="ch_\x1b[2J\u202e1"))
    me.read(CODE.pattern)
    assert "\x1b" not in me.seen
    assert "\u202e" not in me.seen
    me.type("\n")
    me.end()


def test_pending_lists_and_forgets(bundle_folder, state, waits, capsys):
    first, second = waits(), waits()
    edit(state, first, time=time.time() - 601)
    assert allow.run_pending([StateFolder(str(state))], as_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in said["pending"]] == [second]
    assert not file_of(state, first).exists()
    allow.run_pending([StateFolder(str(state))], as_json=False)
    assert "payout" in capsys.readouterr().out


@pytest.mark.invariant("I3")
def test_only_this_module_says_that_a_person_approved():
    """``Caller.approved`` is set in one place of all that ships: whoever adds another meets this test."""
    packages = Path(__file__).parents[3] / "packages"
    found = [
        str(path.relative_to(packages))
        for path in packages.glob("*/src/**/*.py")
        if re.search(r"approved=(?!=)", path.read_text(encoding="utf-8"))
    ]
    assert found == ["runtime/src/anvil_runtime/allow.py"]


@pytest.mark.invariant("I3")
def test_an_approval_is_for_its_call_alone(executor, upstream):
    other = Caller("person", approved="0" * 64)
    assert execute(executor(), "payout_create", ARGS, other).refusal.code == "human_approval_required"
    assert upstream.plans == []

"""Claude Code's hook as the process that the harness starts, bare and through the emitted command."""

from __future__ import annotations

import json
import os
import py_compile
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path

import jinja2
import pytest
import tomllib
from support.air import make_air, make_operation, make_refund

import hookcore
from anvil_core import catalog
from anvil_core.air import Confirmation, Effect, Idempotency

FOLDER = Path(str(resources.files("anvil_shims") / "claude"))
SERVER = "plugin:anvil-payments:api"
KEPT = tempfile.TemporaryDirectory()  # no hook that a test starts writes into the user's own state
STATE = str(Path(KEPT.name) / "payments-0123456789ab")
PREFIX = "mcp__plugin_anvil-payments_api__"
GOOD = {"confirm": True, "idempotency_key": "order-4711"}
DECIDED = 10


@pytest.fixture
def root(tmp_path):
    return make_bundle(tmp_path / "bundle")


def make_bundle(folder):
    (folder / "plugin" / "claude").mkdir(parents=True)
    shutil.copy(FOLDER / "hook.py", folder / "plugin" / "claude" / "hook.py")
    shutil.copy(hookcore.__file__, folder / "plugin" / "hookcore.py")
    operations = [
        make_operation("get_item"),
        make_refund(),
        make_operation("shut", state="blocked"),
        erase_item(),
    ]
    air = make_air(*operations, preview="preview", service_id="payments")
    (folder / "catalog.json").write_bytes(catalog.write(air, {"claude": [PREFIX]}))
    return folder


def erase_item():
    """An operation that a person must approve each call of."""
    return make_operation(
        "erase_item",
        effect=Effect(kind="mutation", action="delete", risk="destructive", reversible=False),
        confirmation=Confirmation(required=True, reason="It cannot be undone.", human_approval=True),
        idempotency=Idempotency(mode="natural"),
    )


def make_event(tool="get_item", arguments=None, **more):
    return {
        "session_id": "s",
        "cwd": "/",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": PREFIX + tool,
        "tool_input": {} if arguments is None else arguments,
        "tool_use_id": "toolu_1",
        "mcp_server": {"name": SERVER, "source": "plugin"},
        **more,
    }


def run(root, event, command=None, **options):
    """The finished process. ``event`` is bytes, or data to send as JSON."""
    script = str(root / "plugin" / "claude" / "hook.py")
    command = command or [sys.executable, "-I", "-S", "-B", script, "claude", "payments", SERVER, STATE]
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(command, input=data, stderr=subprocess.PIPE, timeout=30, check=False, **options)


def passed(done):
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", DECIDED)


def denied(done, *words):
    """Exactly one JSON object with exactly the keys of a denial; the reason is returned."""
    assert (done.stderr, done.returncode) == (b"", DECIDED)
    answer = json.loads(done.stdout)
    assert set(answer) == {"hookSpecificOutput"}
    output = answer["hookSpecificOutput"]
    assert set(output) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", "deny")
    for word in words:
        assert word in output["permissionDecisionReason"]
    return output["permissionDecisionReason"]


def failed(done, *words):
    """Exit code 2, which denies in every version, with the reason on stderr and nothing on stdout."""
    assert done.returncode == 2
    assert not done.stdout
    for word in words:
        assert word in done.stderr.decode()


# What it decides


@pytest.mark.invariant("I1")
@pytest.mark.parametrize("event", [make_event(), make_event("refund_payment", {"dry_run": True})])
def test_a_call_that_passes_is_silent(root, event):
    passed(run(root, event))


def test_a_denial(root):
    reason = denied(
        run(root, make_event("refund_payment")), "refund_payment was not sent", "confirm", "idempotency_key"
    )
    assert "dry_run: true" in reason


@pytest.mark.parametrize("tool", ["shut", "nothing", "", "get_item2", "get item", "é", "\ud800"])
def test_what_is_not_approved_or_not_known_is_denied(root, tool):
    denied(run(root, make_event(tool)))


MODES = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]
NOTE = "Erase item. Risk: destructive; it cannot be undone. It cannot be undone."


def asked(done):
    """Exactly one JSON object with exactly the keys of a question; what is to be sent is returned."""
    assert (done.stderr, done.returncode) == (b"", DECIDED)
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert set(output) == {
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
    }
    assert (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", "ask")
    assert output["permissionDecisionReason"] == output["updatedInput"]["approval_note"]
    return output["updatedInput"]


def kept(state, kind):
    return [json.loads(path.read_bytes()) for path in sorted((state / kind).glob("*.json"))]


def run_human(root, state, arguments, environ=None, **more):
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "claude", "payments", SERVER, str(state)]
    return run(root, make_event("erase_item", arguments, **more), command, env=environ or {})


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("arguments", [{}, {"confirm": True}, {"dry_run": True, "approved": True}])
@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_needs_a_person_is_asked_about_in_every_mode(root, tmp_path, arguments, mode):
    sent = asked(run_human(root, tmp_path / "state", arguments, permission_mode=mode))
    note = sent.pop("approval_note")
    assert (sent, note) == (arguments, hookcore.approval_note(catalog.entry(erase_item())))
    (record,) = kept(tmp_path / "state", "approvals")
    air_header = json.loads((root / "catalog.json").read_bytes())
    assert abs(record.pop("time") - time.time()) < 60
    assert record == {
        "call_id": "toolu_1",
        "service": "payments",
        "origin": air_header["service"]["origin"],
        "contract_digest": air_header["contract_digest"],
        "operation": erase_item().id,
        "tool": "erase_item",
        "digest": hookcore.digest("erase_item", arguments),
        "note": note,
    }
    (path,) = (tmp_path / "state" / "approvals").iterdir()
    assert path.name == hookcore.sha256("toolu_1") + ".json"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("said", ["yes", "", None, True, NOTE])
def test_a_note_of_the_models_is_denied(root, tmp_path, said):
    state = tmp_path / "state"
    denied(run_human(root, state, {"approval_note": said}), "approval_note", "Leave it out")
    assert kept(state, "approvals") == []


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("mode", MODES)
def test_where_nobody_attends_it_is_denied_and_held(root, tmp_path, mode):
    state, nobody = tmp_path / "state", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    arguments = {"id": "o1", "amount": 5.0}
    reason = denied(run_human(root, state, arguments, nobody, permission_mode=mode), "a person's approval")
    assert kept(state, "approvals") == []
    (held,) = kept(state, "pending")
    assert f"`anvil allow {held['id']}`" in reason
    assert f"`python3 {root}/mcp/server.py allow {held['id']}`" in reason
    assert (held["tool"], held["operation"], held["arguments"]) == (
        "erase_item",
        erase_item().id,
        {"id": "o1", "amount": 5},
    )
    assert {"service", "origin", "contract_digest", "time"} < held.keys()
    (path,) = (state / "pending").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("said", ["1", "", "00", "true"])
def test_whatever_else_the_harness_says_of_attendance_is_asked(root, tmp_path, said):
    asked(run_human(root, tmp_path / "state", {}, {"CLAUDE_CODE_SESSION_ATTENDED": said}))


@pytest.mark.invariant("I3")
@pytest.mark.parametrize(
    "spoil", [lambda state: state.chmod(0o755), lambda state: (state / "approvals").write_text("")]
)
def test_what_cannot_be_recorded_is_denied(root, tmp_path, spoil):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    spoil(state)
    denied(run_human(root, state, {}), "cannot be recorded", "do not retry")


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("call_id", [None, 5, "é", ["x"]])
def test_a_call_without_a_usable_id_is_denied(root, tmp_path, call_id):
    denied(run_human(root, tmp_path / "state", {}, tool_use_id=call_id), "cannot be recorded")


@pytest.mark.invariant("I3")
def test_an_id_is_no_path(root, tmp_path):
    asked(run_human(root, tmp_path / "state", {}, tool_use_id="../../x"))
    assert [path.name for path in (tmp_path / "state" / "approvals").iterdir()] == [
        hookcore.sha256("../../x") + ".json"
    ]


def test_the_order_of_the_arguments_stays_and_the_note_is_last(root, tmp_path):
    sent = asked(run_human(root, tmp_path / "state", {"z": 1, "a": {"y": 1, "b": 2}}))
    assert list(sent) == ["z", "a", "approval_note"]
    assert list(sent["a"]) == ["y", "b"]


@pytest.mark.parametrize("number", ["1e400", "9007199254740993", "NaN"])
def test_a_number_that_another_reader_reads_otherwise(root, tmp_path, number):
    event = json.dumps(make_event("erase_item", {"n": "NUMBER"})).replace('"NUMBER"', number).encode()
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        script,
        "claude",
        "payments",
        SERVER,
        str(tmp_path / "state"),
    ]
    done = run(root, event, command)
    if number == "NaN":
        failed(done)
    else:
        denied(done, "not canonical")
    assert kept(tmp_path / "state", "approvals") == []


# What it leaves in the trail


@pytest.mark.parametrize(
    ("tool", "arguments", "verb", "code"),
    [
        ("get_item", {}, "pass", None),
        ("refund_payment", GOOD, "pass", None),
        ("refund_payment", {}, "deny", "confirmation_required"),
        ("shut", {}, "deny", "operation_not_approved"),
        ("nothing", {}, "deny", "unknown_operation"),
        ("erase_item", {}, "ask", None),
        ("erase_item", {"approval_note": "x"}, "deny", "invalid_arguments"),
    ],
)
def test_each_decision_is_one_line_of_the_trail(root, tmp_path, tool, arguments, verb, code):
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "claude", "payments", SERVER, str(tmp_path / "s")]
    run(root, make_event(tool, arguments), command)
    text = (tmp_path / "s" / "trail.jsonl").read_text(encoding="ascii")
    line = json.loads(text)
    assert text == json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n"
    when = datetime.strptime(line.pop("time"), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    assert abs(when.timestamp() - time.time()) < 60
    assert line == {
        "source": "hook claude",
        "trace_id": None,
        "call_id": "toolu_1",
        "tool": tool,
        "verb": verb,
        "code": code,
        "digest": hookcore.digest(tool, arguments),
        "status": None,
        "ms": None,
    }


def test_a_line_of_the_trail_is_short_whatever_comes(root, tmp_path):
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "claude", "payments", SERVER, str(tmp_path / "s")]
    event = make_event("\U0001f4a5" * 5000, {"n": 1e300}, tool_use_id="\U0001f4a5" * 5000)
    denied(run(root, event, command))
    text = (tmp_path / "s" / "trail.jsonl").read_bytes()
    assert len(text) < 4096
    assert json.loads(text)["digest"] is None


@pytest.mark.parametrize("spoil", [
    lambda state: state.chmod(0o755),
    lambda state: os.mkfifo(state / "trail.jsonl"),
    lambda state: (state / "trail.jsonl").symlink_to(state / "other"),
    lambda state: (state / "trail.jsonl").mkdir(),
])  # fmt: skip
def test_a_trail_that_cannot_be_written_changes_no_decision(root, tmp_path, spoil):
    state = tmp_path / "s"
    state.mkdir(mode=0o700)
    spoil(state)
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "claude", "payments", SERVER, str(state)]
    passed(run(root, make_event(), command))
    denied(run(root, make_event("shut"), command), "shut was not sent")
    assert not (state / "other").exists()


@pytest.mark.parametrize("arguments", [[], None, "{}", 5, [GOOD]])
def test_arguments_that_are_no_object(root, arguments):
    denied(run(root, {**make_event("refund_payment"), "tool_input": arguments}), "not an object")


def test_no_arguments_at_all_are_none(root):
    """As for the server, where absent arguments are an empty object, and null is none."""
    event = make_event("refund_payment")
    del event["tool_input"]
    assert run(root, event).stdout == run(root, make_event("refund_payment")).stdout
    denied(run(root, event), "confirm")


@pytest.mark.invariant("I1")
def test_a_risky_call_that_passes_gets_context_alone(root):
    done = run(root, make_event("refund_payment", GOOD))
    assert (done.stderr, done.returncode) == (b"", DECIDED)
    output = {"hookEventName": "PreToolUse", "additionalContext": "refund_payment: its risk is financial."}
    assert json.loads(done.stdout) == {"hookSpecificOutput": output}


def test_the_preview_tool(root):
    passed(run(root, make_event("preview", {"operation": "erase_item", "arguments": {}})))
    denied(run(root, make_event("preview", {"operation": "shut", "arguments": {}})), "shut")


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "name",
    [
        "Bash",
        "mcp__other__get_item",
        "mcp__plugin_anvil-payments_api_get_item",
        "mcp__plugin_anvil-payments2_api__refund_payment",
        "MCP__plugin_anvil-payments_api__refund_payment",
        "x" + PREFIX + "refund_payment",
        PREFIX[:-1],
        "",
    ],
)
def test_a_foreign_tool_is_left_alone(root, name):
    (root / "catalog.json").unlink()
    passed(run(root, make_event() | {"tool_name": name, "mcp_server": {"name": "other", "source": "user"}}))


def test_the_prefix_is_spelled_as_the_harness_does(root):
    """Every character but ASCII letters, digits, "_" and "-" becomes "_" (facts: claude.md section 1)."""
    server = "plugin:anvil-é.2²:my api"
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "claude", "payments", server, STATE]
    event = make_event(mcp_server={"name": server, "source": "plugin"})
    event["tool_name"] = "mcp__plugin_anvil-__2__my_api__shut"
    denied(run(root, event, command), "shut was not sent")
    event["tool_name"] = "mcp__plugin_anvil-é_2²_my_api__shut"
    passed(run(root, event, command))


@pytest.mark.parametrize("name", ["PostToolUse", "PermissionRequest", "pretooluse", ""])
def test_another_event_is_left_alone(root, name):
    passed(run(root, make_event("refund_payment", hook_event_name=name)))


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "server",
    [
        {"name": "plugin_anvil-payments_api", "source": "dynamic"},
        {"name": "plugin_anvil-payments_api", "source": "plugin"},
        {"name": SERVER, "source": "user"},
        {"name": SERVER},
        {"source": "plugin"},
        {},
    ],
)
def test_an_impostor_is_denied(root, server):
    """A server of the user's whose name is spelled like ours takes over the name of our tools."""
    denied(run(root, make_event(mcp_server=server)), "not by " + SERVER, "Remove it")


@pytest.mark.parametrize("old", [{}, {"mcp_server": None}])
def test_an_older_version_does_not_tell_the_server(root, old):
    event = make_event("get_item")
    del event["mcp_server"]
    passed(run(root, event | old))


# What it is given


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"not JSON",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b"{} {}",
        b'{"tool_name": "x"}',
        b'{"hook_event_name": "PreToolUse"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": null}',
        b"\xef\xbb\xbf" + json.dumps(make_event()).encode(),
        json.dumps(make_event()).encode("utf-16"),
        json.dumps(make_event())[:-1].encode(),
        json.dumps(make_event(mcp_server="text")).encode(),
        json.dumps(make_event("refund_payment", {"amount": float("nan")})).encode(),
        b'{"hook_event_name": "PreToolUse", "tool_name": "\xff"}',
        b"[" * 100_000,
    ],
)
def test_what_it_cannot_read_is_denied(root, data):
    failed(
        run(root, data), "anvil: the claude guard of payments failed", "Reinstall the bundle in", str(root)
    )


def test_large_arguments(root):
    event = make_event("refund_payment", {**GOOD, "note": "é" * 1_500_000, "more": list(range(50_000))})
    assert b"its risk is financial" in run(root, event).stdout
    event["tool_input"]["confirm"] = "x" * 1_500_000
    reason = denied(run(root, event), "the string")
    assert len(reason) < 2000


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_the_locale_does_not_matter(root, locale):
    event = make_event("refund_payment", {"confirm": "ja, natürlich \U0001f600"})
    data = json.dumps(event, ensure_ascii=False).encode()
    environment = {"LANG": locale, "LC_ALL": locale, "PATH": os.environ["PATH"]}
    denied(run(root, data, env=environment), "ja, nat\\u00fcrlich")


# What it needs


@pytest.mark.invariant("I4")
def test_a_missing_catalog_is_denied_by_name(root):
    (root / "catalog.json").unlink()
    path = str(root / "catalog.json")
    denied(run(root, make_event()), path, "No such file or directory", "Reinstall the bundle")


@pytest.mark.invariant("I4")
def test_a_cut_catalog_is_denied_by_name(root):
    path = root / "catalog.json"
    path.write_bytes(path.read_bytes()[:-5])
    denied(run(root, make_event()), str(path), "cut short")


@pytest.mark.invariant("I4")
def test_an_entry_of_another_form_is_denied(root):
    path = root / "catalog.json"
    path.write_bytes(path.read_bytes().replace(b'"dry_run_argument"', b'"dry_run_argumenx"'))
    failed(run(root, make_event()), "KeyError", "dry_run_argument")


@pytest.mark.invariant("I4")
def test_a_missing_core_is_denied_by_name(root):
    (root / "plugin" / "hookcore.py").unlink()
    failed(run(root, make_event()), str(root / "plugin" / "hookcore.py"))


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "text", ["def broken(:\n", "\0", "raise SystemExit(0)\n", "import nowhere\n", "", "x = 1\n" * 3]
)
def test_a_broken_core_is_denied_by_name(root, text):
    (root / "plugin" / "hookcore.py").write_text(text, encoding="utf-8")
    failed(run(root, make_event()), str(root), "Reinstall the bundle")


def test_a_syntax_error_names_the_file_and_line(root):
    (root / "plugin" / "hookcore.py").write_text("x = 1\ndef broken(:\n", encoding="utf-8")
    failed(run(root, make_event()), "SyntaxError", "hookcore.py, line 2")


@pytest.mark.invariant("I4")
def test_a_planted_bytecode_cache_is_not_used(root):
    source = root / "planted.py"
    source.write_text("PASS = DENY = 'pass'\ndef loads(text): raise SystemExit(10)\n", encoding="utf-8")
    for name in (f"hookcore.{sys.implementation.cache_tag}.pyc", "hookcore.pyc"):
        planted = root / "plugin" / "__pycache__" / name
        py_compile.compile(
            str(source), cfile=str(planted), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    denied(run(root, make_event("refund_payment")))


def test_it_leaves_no_bytecode_cache(root):
    run(root, make_event())
    assert sorted(path.name for path in root.rglob("*")) == [
        "catalog.json",
        "claude",
        "hook.py",
        "hookcore.py",
        "plugin",
    ]


@pytest.mark.invariant("I4")
def test_no_module_of_the_working_directory_or_environment_is_used(root, tmp_path):
    stray = tmp_path / "stray"
    stray.mkdir()
    for name in ("json", "_json", "_signal", "hookcore", "sitecustomize", "usercustomize", "hashlib"):
        (stray / f"{name}.py").write_text("raise SystemExit(10)\n", encoding="utf-8")
        shutil.copy(stray / f"{name}.py", root / "plugin" / "claude" / f"{name}.py")
    environment = {**os.environ, "PYTHONPATH": str(stray), "PYTHONSTARTUP": str(stray / "json.py")}
    denied(run(root, make_event("refund_payment"), cwd=stray, env=environment))
    failed(run(root, b"not JSON", cwd=stray, env=environment), "JSONDecodeError")


# How it ends


@pytest.mark.invariant("I4")
def test_a_closed_stdout_denies(root):
    done = run(root, make_event("refund_payment"), preexec_fn=lambda: os.close(1), stdout=None)
    failed(done, "OSError", "Reinstall")


@pytest.mark.invariant("I4")
def test_a_full_stdout_denies(root):
    with Path("/dev/full").open("wb") as full:
        failed(run(root, make_event("refund_payment"), stdout=full), "No space left on device")


@pytest.mark.invariant("I4")
def test_a_stdout_that_takes_a_part_denies(root):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # so that it takes what there is room for
    failed(run(root, make_event("x" * 200_000), stdout=writing), "not taken whole")
    os.close(writing)
    os.close(reading)


@pytest.mark.invariant("I4")
def test_a_stdout_that_nobody_reads_denies(root):
    reading, writing = os.pipe()
    os.close(reading)
    failed(run(root, make_event("refund_payment"), stdout=writing), "BrokenPipeError")
    os.close(writing)


@pytest.mark.invariant("I4")
def test_a_closed_stdin_denies(root):
    script = str(root / "plugin" / "claude" / "hook.py")
    command = [
        "sh",
        "-c",
        'exec "$@" <&-',
        "sh",
        sys.executable,
        "-I",
        "-S",
        "-B",
        script,
        "claude",
        "payments",
        SERVER,
        STATE,
    ]
    failed(run(root, b"", command), "OSError")


@pytest.mark.invariant("I4")
def test_a_hang_ends_within_the_alarm(root):
    script = root / "plugin" / "claude" / "hook.py"
    source = script.read_text(encoding="utf-8")
    assert source.count("SECONDS = 10, 2, 8") == 1
    script.write_text(source.replace("SECONDS = 10, 2, 8", "SECONDS = 10, 2, 1"), encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-B", str(script), "claude", "payments", SERVER, STATE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(timeout=10) == -14  # SIGALRM: neither 10 nor 0
        assert process.stdout.read() == b""


def test_the_alarm_is_shorter_than_the_harnesss_own_limit():
    source = (FOLDER / "hook.py").read_text(encoding="utf-8")
    seconds = int(source.partition("SECONDS = 10, 2, ")[2].split()[0])
    assert seconds < hooks_file("payments")["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"]


@pytest.mark.invariant("I4")
def test_no_memory_denies(root):
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (60 * 2**20, 60 * 2**20))

    event = make_event("get_item", {"note": "x" * 30_000_000})
    failed(run(root, event, preexec_fn=little))


# Through the command that is emitted


def names_of(service):
    names = {"service": service, "service_": service.replace("-", "_")}
    contract = tomllib.loads((FOLDER / "contract.toml").read_text(encoding="utf-8"))
    for key, form in contract["names"].items():
        names[key] = form.format_map(names)
    return names


def hooks_file(service):
    """hooks.json as the generator renders it."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tojson"] = json.dumps
    template = (FOLDER / "templates" / "plugin" / "claude" / "hooks.json.j2").read_text(encoding="utf-8")
    values = {
        "service": {"id": service},
        "names": names_of(service),
        "bundle": {},
        "contract": {},
        "state": STATE,
    }
    return json.loads(environment.from_string(template).render(values))


@pytest.fixture
def path(tmp_path):
    """A folder for PATH that has python3 and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return folder


def run_emitted(root, event, path, **more):
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    (handler,) = matcher["hooks"]
    environment = {"PATH": str(path), "CLAUDE_PLUGIN_ROOT": str(root), **more}
    return run(root, event, ["/bin/sh", "-c", handler["command"]], env=environment)


def test_the_hooks_file():
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    (handler,) = matcher["hooks"]
    assert matcher["matcher"] == "^" + PREFIX
    assert (handler["type"], handler["timeout"], handler["onFailure"]) == ("command", 10, "block")
    assert set(handler) == {"type", "timeout", "onFailure", "command"}


@pytest.mark.invariant("I1")
def test_emitted_a_pass_is_success(root, path):
    done = run_emitted(root, make_event(), path)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_emitted_a_denial_is_success(root, path):
    done = run_emitted(root, make_event("refund_payment"), path)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.invariant("I4")
def test_emitted_a_missing_interpreter_denies(root, path):
    (path / "python3").unlink()
    failed(run_emitted(root, make_event(), path), "python3", "payments", "reinstall the plugin")


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    "body", ["exit 0", "exit 1", "exit 3", "kill -9 $$", "exit 127", "cat >/dev/null; exit 0"]
)
def test_emitted_an_interpreter_that_says_nothing_denies(root, path, body):
    (path / "python3").unlink()
    (path / "python3").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (path / "python3").chmod(0o755)
    failed(run_emitted(root, make_event(), path), "python3")


@pytest.mark.invariant("I4")
@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("get_item", 'echo hello; exec {python} "$@"'),
        ("refund_payment", 'echo hello; exec {python} "$@"'),
        ("get_item", '{python} "$@"; code=$?; echo bye; exit $code'),
        ("refund_payment", '{python} "$@"; code=$?; echo bye; exit $code'),
        ("refund_payment", '{python} "$@" | head -c 60; exit 10'),
        ("refund_payment", "echo 0; exit 1"),
        ("refund_payment", "echo '{}'; exit 10"),
    ],
)
def test_emitted_an_interpreter_that_adds_or_drops_text_denies(root, path, operation, body):
    (path / "python3").unlink()
    script = body.replace("{python}", sys.executable)
    (path / "python3").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n", encoding="utf-8")
    (path / "python3").chmod(0o755)
    failed(run_emitted(root, make_event(operation), path), "python3")


@pytest.mark.invariant("I4")
def test_emitted_no_module_of_the_environment_is_used(root, path, tmp_path):
    """A repository's settings can set variables: one could else end each hook as if it had decided."""
    stray = tmp_path / "stray" / "encodings"
    stray.mkdir(parents=True)
    (stray / "__init__.py").write_text("import posix\nposix._exit(10)\n", encoding="utf-8")
    done = run_emitted(root, make_event("refund_payment"), path, PYTHONPATH=str(stray.parent))
    assert (done.stderr, done.returncode) == (b"", 0)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.invariant("I4")
def test_emitted_a_missing_script_denies_by_name(root, path):
    script = root / "plugin" / "claude" / "hook.py"
    script.unlink()
    failed(run_emitted(root, make_event(), path), str(script), "reinstall the plugin")


@pytest.mark.invariant("I4")
@pytest.mark.parametrize("text", ["def broken(:\n", "raise RuntimeError\n", "", "import sys; sys.exit(0)\n"])
def test_emitted_a_broken_script_denies(root, path, text):
    (root / "plugin" / "claude" / "hook.py").write_text(text, encoding="utf-8")
    failed(run_emitted(root, make_event(), path), "hook.py")


@pytest.mark.invariant("I4")
def test_emitted_an_unset_root_denies(root, path):
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    command = matcher["hooks"][0]["command"]
    failed(
        run(root, make_event(), ["/bin/sh", "-c", command], env={"PATH": str(path)}), "/plugin/claude/hook.py"
    )


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'say "hi"', "$HOME", "`id`", "a;b", "back\\slash", "ünï", "a\nb", "%s {x}"]
)
def test_emitted_any_name_of_the_plugins_folder(tmp_path, path, name):
    root = make_bundle(tmp_path / name)
    passing = run_emitted(root, make_event(), path)
    assert (passing.stdout, passing.stderr, passing.returncode) == (b"", b"", 0)
    denying = run_emitted(root, make_event("refund_payment"), path)
    assert denying.returncode == 0
    assert b'"permissionDecision":"deny"' in denying.stdout

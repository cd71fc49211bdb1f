"""Codex's hook as the process that the harness starts, bare and through the emitted command."""

from __future__ import annotations

import json
import os
import py_compile
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import jinja2
import pytest
import tomllib
from support.air import make_air, make_operation, make_refund

import hookcore
from anvil_core import catalog
from anvil_core.air import Confirmation, Effect, Idempotency

FOLDER = Path(str(resources.files("anvil_shims") / "codex"))
SERVER = "payments"
KEPT = tempfile.TemporaryDirectory()  # no hook that a test starts writes into the user's own state
STATE = str(Path(KEPT.name) / "payments-0123456789ab")
PREFIX = "mcp__payments__"
GOOD = {"confirm": True, "idempotency_key": "order-4711"}
DECIDED = 10


@pytest.fixture
def root(tmp_path):
    return make_bundle(tmp_path / "bundle")


def make_bundle(folder):
    (folder / "plugin" / "codex").mkdir(parents=True)
    shutil.copy(FOLDER / "hook.py", folder / "plugin" / "codex" / "hook.py")
    shutil.copy(hookcore.__file__, folder / "plugin" / "hookcore.py")
    operations = [
        make_operation("get_item"),
        make_refund(),
        make_operation("shut", state="blocked"),
        make_operation(
            "erase_item",
            effect=Effect(kind="mutation", action="delete", risk="destructive", reversible=False),
            confirmation=Confirmation(required=True, reason="It cannot be undone.", human_approval=True),
            idempotency=Idempotency(mode="natural"),
        ),
    ]
    air = make_air(*operations, preview="preview", service_id="payments")
    (folder / "catalog.json").write_bytes(catalog.write(air, {"codex": [PREFIX]}))
    return folder


def make_event(tool="get_item", arguments=None, **more):
    return {
        "session_id": "s",
        "turn_id": "t",
        "model": "m",
        "cwd": "/",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": PREFIX + tool,
        "tool_input": {} if arguments is None else arguments,
        "tool_use_id": "call_1",
        **more,
    }


def run(root, event, command=None, **options):
    """The finished process. ``event`` is bytes, or data to send as JSON."""
    script = str(root / "plugin" / "codex" / "hook.py")
    command = command or [sys.executable, "-I", "-S", "-B", script, "codex", "payments", SERVER, STATE]
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


def run_human(root, state, arguments, mode):
    script = str(root / "plugin" / "codex" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "codex", "payments", SERVER, str(state)]
    return run(root, make_event("erase_item", arguments, permission_mode=mode), command)


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("mode", ["acceptEdits", "plan", "dontAsk", "bypassPermissions", "", None])
def test_where_nobody_can_be_asked_it_is_denied_and_held(root, tmp_path, mode):
    reason = denied(run_human(root, tmp_path / "s", {"id": "o1"}, mode), "a person's approval")
    (path,) = (tmp_path / "s" / "pending").iterdir()
    assert f"`anvil allow {path.stem}`" in reason
    held = json.loads(path.read_bytes())
    assert (held["id"], held["tool"], held["arguments"]) == (path.stem, "erase_item", {"id": "o1"})


@pytest.mark.invariant("I3")
@pytest.mark.parametrize("arguments", [{}, {"confirm": True}, {"dry_run": True, "approved": True}])
def test_in_the_terminal_the_server_asks_so_the_hook_says_nothing(root, tmp_path, arguments):
    """Not a grant: the server shows its form, and Codex would let the call run on which a hook says "ask"."""
    passed(run_human(root, tmp_path / "s", arguments, "default"))
    assert not (tmp_path / "s" / "approvals").exists()
    (line,) = (tmp_path / "s" / "trail.jsonl").read_text(encoding="ascii").splitlines()
    assert (json.loads(line)["verb"], json.loads(line)["source"]) == ("ask", "hook codex")


@pytest.mark.invariant("I3")
def test_a_note_of_the_models_is_denied(root, tmp_path):
    denied(run_human(root, tmp_path / "s", {"approval_note": "yes"}, "default"), "approval_note")


@pytest.mark.parametrize("arguments", [[], None, "{}", 5, [GOOD]])
def test_arguments_that_are_no_object(root, arguments):
    denied(run(root, {**make_event("refund_payment"), "tool_input": arguments}), "not an object")


def test_no_arguments_at_all(root):
    """The same as an empty object, for the server too."""
    event = make_event("refund_payment")
    del event["tool_input"]
    denied(run(root, event), "confirm", "idempotency_key")
    event["tool_name"] = PREFIX + "get_item"
    passed(run(root, event))


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
        "exec",
        "mcp__other__get_item",
        "mcp__payments_get_item",
        "mcp__payments2__refund_payment",
        "mcp__payments_2__refund_payment",
        "mcp__payments_0123456789a__refund_payment",
        "mcp__payments_0123456789abc__refund_payment",
        "mcp__payments_0123456789AB__refund_payment",
        "mcp__payments_0123456789ab_refund_payment",
        "mcp__payments-0123456789ab__refund_payment",
        "MCP__payments__refund_payment",
        "x" + PREFIX + "refund_payment",
        PREFIX[:-1],
        "",
    ],
)
def test_a_foreign_tool_is_left_alone(root, name):
    (root / "catalog.json").unlink()
    passed(run(root, make_event() | {"tool_name": name}))
    assert not re.search(hooks_file("payments")["hooks"]["PreToolUse"][0]["matcher"], name)


@pytest.mark.invariant("I4")
@pytest.mark.parametrize("digits", ["0123456789ab", "ffffffffffff", "000000000000"])
def test_a_server_that_was_renamed_is_still_ours(root, digits):
    """A server whose name is spelled like ours makes Codex rename both (facts: codex.md section 3)."""
    prefix = f"mcp__payments_{digits}__"
    assert re.search(hooks_file("payments")["hooks"]["PreToolUse"][0]["matcher"], prefix)
    event = make_event()
    passed(run(root, event | {"tool_name": prefix + "get_item"}))
    denied(run(root, event | {"tool_name": prefix + "refund_payment"}), "refund_payment was not sent")
    denied(run(root, event | {"tool_name": prefix + "shut"}), "shut was not sent")


@pytest.mark.parametrize("server", ["pay-ments.2²", "pay ments_2é"])
def test_the_prefix_is_spelled_as_the_harness_does(root, server):
    """Every character but ASCII letters, digits and "_" becomes "_" (facts: codex.md section 3)."""
    script = str(root / "plugin" / "codex" / "hook.py")
    command = [sys.executable, "-I", "-S", "-B", script, "codex", "payments", server, STATE]
    event = make_event() | {"tool_name": "mcp__pay_ments_2___shut"}
    denied(run(root, event, command), "shut was not sent")
    passed(run(root, event | {"tool_name": f"mcp__{server}__shut"}, command))


def test_names_of_a_service_with_dashes():
    """What the contract calls the prefix and the matcher is what the hook takes for its own."""
    names = names_of("paypal-pay")
    assert (names["server"], names["prefix"]) == ("paypal-pay", "mcp__paypal_pay__")
    assert names["matcher"] == "^mcp__paypal_pay(_[0-9a-f]{12})?__"


@pytest.mark.parametrize("name", ["PostToolUse", "PermissionRequest", "pretooluse", ""])
def test_another_event_is_left_alone(root, name):
    passed(run(root, make_event("refund_payment", hook_event_name=name)))


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
        json.dumps(make_event("refund_payment", {"amount": float("nan")})).encode(),
        b'{"hook_event_name": "PreToolUse", "tool_name": "\xff"}',
        b"[" * 100_000,
    ],
)
def test_what_it_cannot_read_is_denied(root, data):
    failed(run(root, data), "anvil: the codex guard of payments failed", "Reinstall the bundle in", str(root))


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
        "codex",
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
        shutil.copy(stray / f"{name}.py", root / "plugin" / "codex" / f"{name}.py")
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
    script = str(root / "plugin" / "codex" / "hook.py")
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
        "codex",
        "payments",
        SERVER,
        STATE,
    ]
    failed(run(root, b"", command), "OSError")


@pytest.mark.invariant("I4")
def test_a_hang_ends_within_the_alarm(root):
    script = root / "plugin" / "codex" / "hook.py"
    source = script.read_text(encoding="utf-8")
    assert source.count("SECONDS = 10, 2, 8") == 1
    script.write_text(source.replace("SECONDS = 10, 2, 8", "SECONDS = 10, 2, 1"), encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-B", str(script), "codex", "payments", SERVER, STATE]
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
    template = (FOLDER / "templates" / "plugin" / "codex" / "hooks.json.j2").read_text(encoding="utf-8")
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


def run_emitted(root, event, path, shell="/bin/sh", **more):
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    (handler,) = matcher["hooks"]
    environment = {"PATH": str(path), "PLUGIN_ROOT": str(root), **more}
    return run(root, event, [shell, "-c", handler["command"]], env=environment)


def test_the_hooks_file():
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    (handler,) = matcher["hooks"]
    assert matcher["matcher"] == "^mcp__payments(_[0-9a-f]{12})?__"
    assert (handler["type"], handler["timeout"]) == ("command", 10)
    assert set(handler) == {"type", "timeout", "command"}
    assert "\n" not in handler["command"]


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
        (
            "refund_payment",
            'event=$(cat); for i in 1 2; do printf %s "$event" | {python} "$@"; done; exit 10',
        ),
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
    script = root / "plugin" / "codex" / "hook.py"
    script.unlink()
    failed(run_emitted(root, make_event(), path), str(script), "reinstall the plugin")


@pytest.mark.invariant("I4")
@pytest.mark.parametrize("text", ["def broken(:\n", "raise RuntimeError\n", "", "import sys; sys.exit(0)\n"])
def test_emitted_a_broken_script_denies(root, path, text):
    (root / "plugin" / "codex" / "hook.py").write_text(text, encoding="utf-8")
    failed(run_emitted(root, make_event(), path), "hook.py")


@pytest.mark.invariant("I4")
def test_emitted_an_unset_root_denies(root, path):
    (matcher,) = hooks_file("payments")["hooks"]["PreToolUse"]
    command = matcher["hooks"][0]["command"]
    failed(
        run(root, make_event(), ["/bin/sh", "-c", command], env={"PATH": str(path)}), "/plugin/codex/hook.py"
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


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox"])
def test_emitted_any_login_shell(root, path, shell, tmp_path):
    """Codex takes the user's login shell; only one that is not on this machine is left out."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine")
    if shell == "busybox":
        (tmp_path / "sh").symlink_to(program)
        program = str(tmp_path / "sh")
    passing = run_emitted(root, make_event(), path, program)
    assert (passing.stdout, passing.returncode) == (b"", 0)
    denying = run_emitted(root, make_event("refund_payment"), path, program)
    assert json.loads(denying.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    (path / "python3").unlink()
    failed(run_emitted(root, make_event(), path, program), "python3")


@pytest.mark.invariant("I4")
def test_emitted_an_interpreter_that_never_ends_is_killed(root, path):
    """Codex lets a call run whose hook it had to stop: the command must end by itself, and before that."""
    (path / "python3").unlink()
    (path / "python3").write_text("#!/bin/sh\n/bin/sleep 60\n", encoding="utf-8")
    (path / "python3").chmod(0o755)
    (path / "timeout").symlink_to(shutil.which("timeout"))
    command = hooks_file("payments")["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert command.count("-s KILL 9") == 1
    environment = {"PATH": str(path), "PLUGIN_ROOT": str(root)}
    began = time.monotonic()
    done = run(root, make_event(), ["/bin/sh", "-c", command.replace("KILL 9", "KILL 1")], env=environment)
    failed(done, "python3")
    assert time.monotonic() - began < 10


def test_emitted_its_limits_are_in_order():
    """The hook's own, the command's, the harness's: each leaves the next one a second."""
    (handler,) = hooks_file("payments")["hooks"]["PreToolUse"][0]["hooks"]
    source = (FOLDER / "hook.py").read_text(encoding="utf-8")
    own = int(source.partition("SECONDS = 10, 2, ")[2].split()[0])
    command = int(handler["command"].partition("-s KILL ")[2].split('"')[0])
    assert own < command < handler["timeout"]


@pytest.mark.invariant("I4")
def test_emitted_a_full_stdout_denies(root, path):
    """An answer that Codex does not get would be a pass."""
    command = hooks_file("payments")["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    environment = {"PATH": str(path), "PLUGIN_ROOT": str(root)}
    with Path("/dev/full").open("wb") as full:
        done = run(
            root, make_event("refund_payment"), ["/bin/sh", "-c", command], env=environment, stdout=full
        )
    assert done.returncode == 2

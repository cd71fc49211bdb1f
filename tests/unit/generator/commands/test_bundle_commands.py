"""``anvil call``, ``serve``, ``decide`` and ``log`` as processes, on a bundle that was compiled."""

from __future__ import annotations

import json
import re
import shutil

import pytest

BODY = {"body": {"title": "Rex"}}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept") / "bundle"


@pytest.fixture
def bundle(cli, project, tmp_path, kept):
    """A copy of a bundle that is compiled once."""
    if not kept.exists():
        compile_into(kept, cli, project)
    return shutil.copytree(kept, tmp_path / "bundle")


def compile_into(out, cli, project):
    folder = project(manifest="operations:\n  createRefund: {confirmation: {human_approval: true}}\n")
    for name in ("addPet", "getPet", "createRefund"):
        assert cli("approve", folder, name).returncode == 0
    assert cli("compile", folder, "--out", out).returncode == 0


@pytest.fixture
def work(tmp_path):
    """A folder to start commands in: the state is beside it, since it may not be inside."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def call(cli, bundle, tmp_path, work):
    # Port 9 of this machine (discard): nobody listens there.
    def run(*words: object):
        state = tmp_path / "state"
        environ = {"ANVIL_BASE_URL": "http://127.0.0.1:9"}
        return cli("call", bundle, *words, "--state", state, cwd=work, **environ)

    return run


def test_a_dry_run(call):
    done = call("add_pet", "--args", json.dumps(BODY), "--dry-run")
    assert done.returncode == 0
    assert '"method": "POST"' in done.stdout
    assert "Nothing was sent" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["add_pet", "--args", json.dumps(BODY)], "confirmation_required", 3),
        (["add_pet", "--args", json.dumps({**BODY, "dry_rum": True})], "invalid_arguments", 3),
        (["create_refund", "--arg", "idempotency_key=key-0001"], "human_approval_required", 3),
        (["delete_pet", "--arg", "pet=1"], "operation_not_approved", 3),
        (["get_pet", "--arg", "pet=1"], "upstream_error", 1),
    ],
)
def test_the_refusals_and_failures_of_the_server(call, words, code, exit_code):
    done = call(*words, "--json")
    assert (json.loads(done.stdout)["error"]["code"], done.returncode) == (code, exit_code)
    told = call(*words)
    assert code in told.stderr
    assert told.stdout == ""


def test_a_name_that_is_nearly_right(call):
    done = call("ad_pet")
    assert done.returncode == 3
    assert "Near it: add_pet" in done.stderr


@pytest.mark.parametrize("words", [["add_pet", "--dry-rnu"], ["add_pet", "--dry"], ["add_pet", "--arg", "x"]])
def test_wrong_usage(call, words, tmp_path):
    assert call(*words).returncode == 2
    assert not (tmp_path / "state").exists()


def test_a_folder_that_is_no_bundle(cli, tmp_path):
    done = cli("call", tmp_path / "nowhere", "add_pet", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "catalog_unusable")
    assert cli("log", tmp_path / "nowhere").returncode == 2
    assert cli("serve", tmp_path / "nowhere").returncode == 1


def test_the_log(call, cli, tmp_path):
    call("add_pet")
    done = cli("log", "--state", tmp_path / "state")
    assert done.returncode == 0
    assert re.search(r"add_pet +- +refused +invalid_arguments", done.stdout)
    said = json.loads(cli("log", "--state", tmp_path / "state", "--json", "--since", "1h").stdout)
    assert [one["source"] for one in said["calls"]] == ["command line"]


@pytest.mark.parametrize(
    "words", [["--since", "yesterday"], ["--service", "../x"], [".", "--service", "pets"], ["--tolo", "x"]]
)
def test_wrong_usage_of_the_log(cli, words):
    assert cli("log", *words).returncode == 2


def test_serve_speaks_mcp_and_ends_with_its_input(cli, bundle, tmp_path, work):
    done = cli("serve", bundle, "--state", tmp_path / "state", cwd=work)
    assert (done.returncode, done.stdout) == (0, "")


CALL = json.dumps({**BODY, "confirm": True})


@pytest.mark.parametrize(
    ("tool", "args", "flags", "verb", "code", "exit_code"),
    [
        ("add_pet", CALL, [], "pass", None, 0),
        ("mcp__plugin_anvil-pets_api__add_pet", CALL, [], "pass", None, 0),
        ("add_pet", json.dumps(BODY), [], "deny", "confirmation_required", 3),
        ("delete_pet", "{}", [], "deny", "operation_not_approved", 3),
        ("nope", "{}", [], "deny", "unknown_operation", 3),
        ("create_refund", '{"idempotency_key": "k"}', [], "deny", "human_approval_required", 3),
        ("create_refund", '{"idempotency_key": "k"}', ["--human"], "ask", "human_approval_required", 0),
    ],
)
def test_decide_says_what_the_hook_would(cli, bundle, tool, args, flags, verb, code, exit_code):
    done = cli("decide", bundle, tool, args, "--harness", "claude", *flags, "--json")
    said = json.loads(done.stdout)
    assert (said["verb"], said["code"], done.returncode) == (verb, code, exit_code)
    assert said["ok"] is (verb != "deny")
    told = cli("decide", bundle, tool, args, "--harness", "claude", *flags)
    assert told.stdout.startswith(verb)
    assert told.stderr == ""


def test_decide_tells_of_another_core(cli, bundle):
    (bundle / "plugin" / "hookcore.py").write_text("# another\n", encoding="utf-8")
    assert "another decision core" in cli("decide", bundle, "add_pet", "{}", "--harness", "claude").stderr


@pytest.mark.parametrize(
    "words", [["add_pet", "{", "--harness", "claude"], ["add_pet", "{}", "--harness", "x"]]
)
def test_wrong_usage_of_decide(cli, bundle, words):
    assert cli("decide", bundle, *words).returncode == 2


def test_a_call_that_waits_is_listed_and_needs_a_terminal(cli, bundle, call, tmp_path, work):
    done = call("create_refund", "--arg", "idempotency_key=key-0001")
    assert done.returncode == 3
    name = re.search(r"anvil allow ([0-9a-f]{8})", done.stderr)[1]
    listed = cli("pending", "--state", tmp_path / "state", "--json", cwd=work)
    (waits,) = json.loads(listed.stdout)["pending"]
    assert (waits["id"], waits["bundle"]) == (name, str(bundle))
    for more in ([], ["--bundle", bundle]):
        asked = cli("allow", name, *more, "--state", tmp_path / "state", cwd=work)
        assert asked.returncode == 3
        assert "on a terminal" in asked.stderr
    assert name in cli("pending", "--state", tmp_path / "state", cwd=work).stdout


def test_pending_of_a_bundle_or_a_service(cli, bundle, work):
    assert "No call waits" in cli("pending", bundle, cwd=work).stdout
    assert cli("pending", bundle, "--service", "x", cwd=work).returncode == 2

"""``anvil install``, ``uninstall`` and ``doctor`` as processes, with stand-ins for the programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest
from support import fake_programs, homes

from anvil_generator import harnesses

HARNESSES = sorted(homes.CONFIG)


@pytest.fixture
def bundle(tmp_path):
    return homes.make_bundle(tmp_path / "bundle")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A function: a home of a harness, with its program on PATH."""

    def make(harness: str, name: str = "comments") -> homes.Home:
        program = fake_programs.make(harness, tmp_path / "bin", fake_programs.VERSIONS[harness])
        home = homes.make_home(name, harness, tmp_path, program)
        monkeypatch.setenv("HOME", str(home.path))
        monkeypatch.setenv("PATH", f"{program.parent}:{home.where.environ['PATH']}")
        for gone in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
            monkeypatch.delenv(gone, raising=False)
        return home

    return make


def test_every_harness_with_an_install_has_a_doctor():
    with_install = [one.id for one in harnesses.known() if one.installer()]
    assert with_install == [one.id for one in harnesses.known() if one.doctor()] == HARNESSES


@pytest.mark.parametrize("harness", HARNESSES)
def test_install_doctor_uninstall(harness, place, cli, bundle):
    home = place(harness)
    before = home.text()
    done = cli("install", bundle, "--harness", harness, "--yes", "--trust", "--no-prepare", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["ok"], said["warnings"]) == (0, True, [])
    looked = cli("doctor", "--harness", harness, "--json")  # the bundle that was installed
    checks = {check["id"]: check for check in json.loads(looked.stdout)["checks"]}
    assert looked.returncode == 0, looked.stdout
    assert {check["bundle"] for check in checks.values()} == {str(bundle)}
    assert cli("uninstall", "pets", "--harness", harness).returncode == 0
    assert home.text() == before
    looked = cli("doctor", bundle, "--harness", harness)
    assert looked.returncode == 1
    assert "FAILED  plugin-installed" in looked.stdout
    assert "what to do: anvil install" in looked.stdout


def test_without_trust_the_exit_code_says_so(place, cli, bundle):
    place("codex")
    done = cli("install", bundle, "--harness", "codex", "--yes", "--no-prepare")
    assert done.returncode == 3
    assert "^mcp__pets(_[0-9a-f]{12})?__" in done.stderr
    assert "not trusted" in done.stderr


@pytest.mark.parametrize(("answers", "code", "trusted"), [("yes\nyes\n", 0, True), ("yes\nno\n", 3, False)])
def test_a_person_is_asked_on_a_terminal(answers, code, trusted, place, bundle, tmp_path):
    home = place("codex")
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    command = [
        sys.executable,
        "-m",
        "anvil_generator",
        "install",
        str(bundle),
        "--harness",
        "codex",
        "--no-prepare",
    ]
    done = subprocess.run(
        command, stdin=theirs, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Do you trust it?" in done.stderr
    assert (b"trusted_hash" in home.text()) is trusted


def test_without_a_terminal_and_a_yes_nothing_is_done(place, cli, bundle):
    home = place("codex")
    before = home.text()
    done = cli("install", bundle, "--harness", "codex", "--trust")
    assert (done.returncode, home.text()) == (2, before)
    assert "give --yes" in done.stderr


def test_a_changed_bundle_is_not_installed(place, cli, bundle):
    home = place("claude")
    before = home.text()
    (bundle / "catalog.json").write_text("{}", encoding="utf-8")
    done = cli("install", bundle, "--harness", "claude", "--yes")
    assert (done.returncode, home.text()) == (1, before)
    assert "catalog.json changed" in done.stderr


def test_a_broken_configuration_names_file_and_line(place, cli, bundle):
    home = place("codex")
    home.config.write_bytes(b"a = 1\nb = \n")
    done = cli("install", bundle, "--harness", "codex", "--yes", "--trust")
    assert (done.returncode, home.text()) == (1, b"a = 1\nb = \n")
    assert f"{home.config}:2: error:" in done.stderr


def test_the_server_is_prepared(place, cli, bundle):
    """The small bundle's server knows no prepare; that is a warning, and the install is done."""
    place("claude")
    (bundle / "mcp" / "server.py").write_text("import sys\nsys.exit('no wheels for ' + sys.argv[1])\n")
    facts = json.loads((bundle / "bundle.json").read_text())
    del facts["files"]["mcp/server.py"]
    facts["files"]["mcp/server.py"] = fake_programs.hash_of((bundle / "mcp" / "server.py").read_bytes())
    homes.write(bundle, {"bundle.json": facts})
    done = cli("install", bundle, "--harness", "claude", "--yes")
    assert done.returncode == 0
    assert "no wheels for prepare" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["install", "nothing", "--harness", "claude"], 1, "not a bundle"),
        (["install", "nothing", "--harness", "other"], 2, "takes one of"),
        (["uninstall", "nothing", "--harness", "claude"], 1, "no install of it is recorded"),
        (["doctor", "nothing", "--harness", "claude"], 1, "not a bundle"),
    ],
)
def test_what_cannot_be_done_says_why(arguments, code, says, place, cli):
    place("claude")
    done = cli(*arguments)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


def test_an_uninstall_from_another_folder_names_the_first(place, cli, bundle, tmp_path):
    home = place("codex")
    assert cli("install", bundle, "--harness", "codex", "--yes", "--trust", "--no-prepare").returncode == 0
    done = cli("uninstall", bundle, "--harness", "codex", CODEX_HOME=str(tmp_path))
    assert done.returncode == 1
    assert str(home.config) in done.stderr

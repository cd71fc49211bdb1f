"""The launcher in process: where it installs, with which pip, and what it will not run."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pwd
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from anvil_runtime import launcher
from anvil_runtime.launcher import StopError

SOURCE = Path(launcher.__file__).read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path, monkeypatch, bundle_folder):
    """A home that the system knows, a project to work in, and the launcher of ``bundle_folder``."""
    folder = tmp_path / "home"
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    known_home(monkeypatch, folder)
    monkeypatch.chdir(tmp_path / "project")
    for name, value in {
        "BUNDLE": bundle_folder,
        "MCP": bundle_folder / "mcp",
        "LIB": bundle_folder / "mcp" / "lib",
        "LOCK": bundle_folder / "mcp" / "requirements.lock",
    }.items():
        monkeypatch.setattr(launcher, name, value)
    monkeypatch.setattr(launcher.Options, "cache", None)
    return folder


def known_home(monkeypatch, folder: Path) -> None:
    """What the system says of this user."""
    entry = SimpleNamespace(pw_dir=str(folder))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)


@pytest.fixture
def fake_pip(tmp_path, monkeypatch):
    """A function: a pip made of a few lines, which has its arguments in ``args``."""

    def make(lines: str) -> None:
        script = tmp_path / "pip.py"
        script.write_text("import os, sys, time\nargs = sys.argv[1:]\n" + lines, encoding="utf-8")
        monkeypatch.setattr(launcher, "find_pip", lambda _: [sys.executable, "-I", str(script)])

    return make


PUT = "open(os.path.join(args[args.index('--target') + 1], 'made.txt'), 'w').write(' '.join(args))\n"


def test_an_old_python_can_read_it_and_is_told():
    ast.parse(SOURCE, feature_version=(3, 9))
    imported = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    own = {"anvil_runtime", *(f"anvil_runtime.{name}" for name in ("server", "bundle", "commands"))}
    assert {name.partition(".")[0] for name in imported - own} <= sys.stdlib_module_names


def test_a_python_too_old_ends_with_a_clear_message(home, monkeypatch, capsys):
    monkeypatch.setattr(launcher, "NEEDS", (9, 10))
    assert launcher.run(["serve"]) == 1
    assert "needs Python 9.10+" in capsys.readouterr().err
    assert not (home / ".cache").exists()


def test_the_locked_packages_are_installed_by_hash_into_the_users_cache(home, fake_pip, bundle_folder, capfd):
    fake_pip(PUT + "print('on stdout')")
    folder = launcher.ready()
    assert folder.parent == home / ".cache" / "anvil"
    assert len(folder.name) == 12
    args = (folder / "made.txt").read_text(encoding="utf-8")
    for wanted in (
        "--isolated",
        "--require-hashes",
        "--only-binary :all:",
        "--no-deps",
        f"-r {launcher.LOCK}",
    ):
        assert wanted in args
    assert "--no-index" not in args
    said = capfd.readouterr()
    assert said.out == ""
    assert "installing the server's packages" in said.err
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]
    assert folder.stat().st_mode & 0o077 == 0


def test_a_second_start_installs_nothing(home, fake_pip):
    fake_pip(PUT)
    first = launcher.ready()
    fake_pip("sys.exit(1)")
    assert launcher.ready() == first


def test_another_lock_is_another_folder(home, fake_pip):
    fake_pip(PUT)
    first = launcher.ready()
    launcher.LOCK.write_bytes(launcher.LOCK.read_bytes() + b"\n")
    assert launcher.ready() != first


def test_a_wheelhouse_is_the_only_source(home, fake_pip, tmp_path):
    fake_pip(PUT)
    args = (launcher.ready(tmp_path) / "made.txt").read_text(encoding="utf-8")
    assert f"--no-index --find-links {tmp_path}" in args


def test_pip_that_fails_leaves_nothing_behind(home, fake_pip, capfd):
    fake_pip(PUT + "sys.exit('no network')")
    assert launcher.run(["serve"]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert "no network" in said.err
    assert "prepare [--wheelhouse" in said.err
    assert list((home / ".cache" / "anvil").iterdir()) == []


def test_two_at_once_both_find_it_done(home, fake_pip):
    fake_pip(PUT + "time.sleep(0.3)")
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(launcher.ready())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert len(set(found)) == 1
    assert [entry.name for entry in found[0].parent.iterdir()] == [found[0].name]


class TestFindPip:
    @pytest.fixture
    def no_pip(self, monkeypatch):
        monkeypatch.setattr(subprocess, "call", lambda *_args, **_options: 1)

    def test_this_pythons_own(self):
        assert launcher.find_pip(None) == [sys.executable, "-I", "-m", "pip"]

    @pytest.mark.usefixtures("no_pip")
    def test_the_wheel_in_ensurepip(self):
        command = launcher.find_pip(None)
        assert command[:2] == [sys.executable, "-I"]
        made = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert made.stdout.startswith("pip ")

    @pytest.mark.usefixtures("no_pip")
    def test_a_wheel_in_the_wheelhouse(self, monkeypatch, tmp_path):
        monkeypatch.setattr(launcher, "bundled_wheels", list)
        wheel = tmp_path / "pip-26.0-py3-none-any.whl"
        wheel.touch()
        assert launcher.find_pip(tmp_path) == [sys.executable, "-I", str(wheel / "pip")]

    @pytest.mark.usefixtures("no_pip")
    def test_none_at_all(self, monkeypatch, tmp_path):
        monkeypatch.setattr(launcher, "bundled_wheels", list)
        with pytest.raises(StopError, match=r"pip was not found.*python3-pip.*--wheelhouse"):
            launcher.find_pip(tmp_path)


@pytest.mark.usefixtures("home")
class TestWhoseCode:
    @pytest.mark.parametrize("said", [".", "..", "", "../evil", "{here}", "{here}/home", "/nowhere"])
    def test_home_is_not_believed_where_the_system_knows_better(self, home, monkeypatch, tmp_path, said):
        monkeypatch.setenv("HOME", said.format(here=tmp_path / "project"))
        assert launcher.cache_folder() == home / ".cache" / "anvil"

    def test_working_at_home_is_fine(self, home, monkeypatch):
        monkeypatch.chdir(home)
        assert launcher.cache_folder() == home / ".cache" / "anvil"

    def test_a_home_inside_the_bundle(self, monkeypatch, bundle_folder):
        (bundle_folder / "home").mkdir()
        known_home(monkeypatch, bundle_folder / "home")
        with pytest.raises(StopError, match="inside the bundle"):
            launcher.cache_folder()

    @pytest.mark.parametrize("relative", [False, True])
    def test_a_cache_of_ones_own(self, capfd, fake_pip, tmp_path, relative):
        fake_pip(PUT)
        chosen = "../own" if relative else str(tmp_path / "own")
        assert launcher.run(["--cache", chosen, "doctor"]) == 1
        assert f"ok       cache: {tmp_path / 'own'} (as --cache says)" in capfd.readouterr().out
        assert launcher.ready().parent == tmp_path / "own"
        assert f"--cache {tmp_path / 'own'} prepare" in launcher.by_hand()

    def test_a_cache_inside_the_bundle(self, capsys, bundle_folder):
        assert launcher.run(["--cache", str(bundle_folder / "x"), "serve"]) == 1
        assert "inside the bundle" in capsys.readouterr().err

    @pytest.mark.parametrize("mode", [0o777, 0o720])
    def test_a_cache_that_others_can_write_to(self, fake_pip, mode):
        fake_pip(PUT)
        folder = launcher.ready()
        folder.chmod(mode)
        before = list(sys.path)
        with pytest.raises(StopError, match="another user"):
            launcher.activate(folder)
        assert sys.path == before


@pytest.mark.usefixtures("home")
class TestNoHomeInTheSystem:
    """Only then HOME counts, and only where no project could have set it."""

    @pytest.fixture(params=["no entry", "no folder"])
    def home(self, request, home, monkeypatch, tmp_path):
        def none(_uid):
            raise KeyError

        known_home(monkeypatch, tmp_path / "nonexistent")
        if request.param == "no entry":
            monkeypatch.setattr(pwd, "getpwuid", none)
        monkeypatch.setenv("HOME", str(home))
        return home

    def test_home_is_taken(self, home):
        assert launcher.cache_folder() == home / ".cache" / "anvil"

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ("", "not an absolute path"),
            (".", "not an absolute path"),
            ("../home", "not an absolute path"),
            ("{top}/nowhere", "not a folder"),
            ("{top}/project", "the working folder, inside it or above it"),
            ("{top}/project/home", "inside it"),
            ("{top}/link", "inside it"),
            ("{top}/project/..", "above it"),
            ("{top}", "above it"),
            ("/", "above it"),
        ],
    )
    def test_or_refused_with_what_to_do(self, monkeypatch, tmp_path, said, why):
        (tmp_path / "project" / "home").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "project" / "home")
        monkeypatch.setenv("HOME", said.format(top=tmp_path))
        with pytest.raises(StopError, match=why) as caught:
            launcher.cache_folder()
        assert "--cache DIR before the subcommand" in str(caught.value)
        assert "or start it from another folder." in str(caught.value)

    def test_another_users(self, home, monkeypatch):
        monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
        with pytest.raises(StopError, match="which is another user's"):
            launcher.cache_folder()


@pytest.mark.usefixtures("home")
class TestDamaged:
    def test_an_empty_folder_is_said_and_made_anew(self, fake_pip, capfd):
        fake_pip(PUT)
        folder = launcher.environment(launcher.read_lock())
        (folder / "left").mkdir(parents=True)
        assert launcher.run(["doctor"]) == 1
        assert f"{folder} is not a complete installation" in capfd.readouterr().out
        assert launcher.ready() == folder
        assert "making it anew" in capfd.readouterr().err
        assert sorted(entry.name for entry in folder.iterdir()) == [launcher.COMPLETE, "made.txt"]
        assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]

    @pytest.mark.parametrize("command", ["serve", "prepare", "doctor"])
    def test_modules_that_were_removed(self, fake_pip, capfd, monkeypatch, command):
        fake_pip(PUT)
        folder = launcher.ready()
        monkeypatch.setattr(launcher, "activate", lambda _: None)
        monkeypatch.setitem(sys.modules, "anvil_runtime.server", None)
        monkeypatch.setitem(sys.modules, "anvil_runtime.bundle", None)
        assert launcher.run([command]) == 1
        said = capfd.readouterr()
        assert f"mcp/lib of {launcher.BUNDLE} is damaged. Install the bundle again" in said.out + said.err
        others = launcher.damaged(folder, ImportError("No module named 'mcp'", name="mcp"))
        assert f"the packages in {folder} are damaged. Remove that folder" in str(others)

    @pytest.mark.parametrize("complete", [False, True])
    def test_what_a_killed_one_left_is_removed_after_an_hour(self, home, fake_pip, monkeypatch, complete):
        fake_pip(PUT)
        monkeypatch.setattr(launcher, "activate", lambda _: None)
        cache = home / ".cache" / "anvil"
        if complete:
            launcher.ready()
        for name, age in {"old": 4000, "new": 3000}.items():
            (cache / f"0123456789ab.{name}_0123"[:21]).mkdir(parents=True)
            os.utime(cache / f"0123456789ab.{name}_0123", (time.time() - age,) * 2)
        for other in ("0123456789ab.pyc-0123456789ab", "notes"):
            (cache / other).mkdir()
            os.utime(cache / other, (0, 0))
        assert launcher.run(["prepare"]) == 0
        kept = {"0123456789ab.new_0123", "0123456789ab.pyc-0123456789ab", "notes"}
        assert {entry.name for entry in cache.iterdir()} == {launcher.ready().name, *kept}


def test_a_home_that_cannot_be_written_to(home, fake_pip, monkeypatch):
    fake_pip(PUT)
    folder = launcher.ready()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(Path, "mkdir", _read_only)
    launcher.activate(folder)
    assert str(sys.pycache_prefix).startswith(f"{folder}.pyc-")
    assert sys.path[-2:] == [str(folder), str(launcher.LIB)]
    assert not [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]


def _read_only(*_args, **_options):
    raise OSError(30, "Read-only file system")


def test_bytecode_belongs_to_the_sources_it_was_made_from(home):
    first = launcher.sources_digest()
    planted = launcher.LIB / "anvil_runtime" / "__pycache__"
    planted.mkdir()
    (planted / "bundle.cpython-311.pyc").write_bytes(b"x")
    assert launcher.sources_digest() == first
    file = launcher.LIB / "anvil_runtime" / "bundle.py"
    content = file.read_text(encoding="utf-8")
    os.utime(file, ns=(0, 0))
    file.write_text(content.replace("Raises", "raises"), encoding="utf-8")
    assert launcher.sources_digest() != first


@pytest.mark.parametrize(
    "arguments",
    [
        ["start"],
        ["serve", "x"],
        ["prepare", "--wheelhouse"],
        ["prepare", "x"],
        ["doctor", "-v"],
        ["--cache"],
        ["--cache", ""],
        ["serve", "--cache", "/tmp"],
    ],
)
def test_usage(home, capsys, arguments):
    assert launcher.run(arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_wheelhouse_that_is_none(home, capsys, tmp_path):
    assert launcher.run(["prepare", "--wheelhouse", str(tmp_path / "no")]) == 1
    assert "is not a folder" in capsys.readouterr().err


def test_doctor_names_what_is_missing(home, capsys):
    assert launcher.run(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split() for line in lines] == [
        ["ok", "Python"],
        ["ok", "bundle"],
        ["ok", "requirements"],
        ["ok", "cache"],
        ["missing", "packages"],
        ["missing", "contract"],
        ["missing", "state"],
        ["missing", "credentials"],
    ]
    launcher.LOCK.unlink()
    assert launcher.run(["doctor"]) == 1
    assert "Reinstall the bundle" in capsys.readouterr().out


@pytest.mark.usefixtures("home")
class TestDoctorReadsTheBundle:
    def said(self, capsys) -> str:
        assert launcher.run(["doctor"]) == 1
        return capsys.readouterr().out.splitlines()[1]

    def test_as_compiled(self, capsys):
        assert "ok       bundle:" in self.said(capsys)

    @pytest.mark.parametrize("change", ["changed", "missing"])
    def test_a_changed_file_is_named(self, capsys, bundle_folder, change):
        file = bundle_folder / "mcp" / "lib" / "anvil_runtime" / "gates.py"
        if change == "missing":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes() + b"\n")
        assert self.said(capsys) == (
            "missing  bundle: changed or missing: mcp/lib/anvil_runtime/gates.py. Reinstall the bundle."
        )

    @pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"files": []}', '{"files": {"a": 5}}'])
    def test_facts_that_cannot_be_read(self, capsys, bundle_folder, text):
        facts = bundle_folder / "bundle.json"
        facts.unlink() if text is None else facts.write_text(text, encoding="utf-8")
        assert "missing  bundle:" in self.said(capsys)

    def test_many(self, capsys, bundle_folder):
        facts = bundle_folder / "bundle.json"
        wanted = json.loads(facts.read_text())["files"]
        facts.write_text(json.dumps({"files": dict.fromkeys(wanted, hashlib.sha256(b"other").hexdigest())}))
        assert f"and {len(wanted) - 5} more" in self.said(capsys)

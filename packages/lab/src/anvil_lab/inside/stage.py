"""One run: starts the scripted model and the API, installs the bundle, starts the harness, reports."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import faults
from anvil_lab.inside.http_api import Api
from anvil_lab.inside.place import Place
from anvil_lab.inside.records import Result, Run, Surroundings, Told
from anvil_lab.inside.terminal import NotReadyError, Terminal, TerminalError

if TYPE_CHECKING:
    from anvil_lab.inside.place import Harness

CACHE = ".cache/anvil"


@dataclass
class Clock:
    """Seconds per part of a run."""

    parts: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.parts[name] = round(now - self.last, 3)
        self.last = now


@dataclass
class Ended:
    exit_code: int | None = None
    output: str = ""
    stderr: str = ""
    screens: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    error: str | None = None
    not_ready: bool = False


def driver(harness: str) -> Harness:
    """The driver of a harness: `Driver` of the module with its name."""
    made: Harness = importlib.import_module(f"anvil_lab.inside.{harness}").Driver()
    return made


def perform(run: Run, *, home: Path, project: Path) -> Result:
    """Carry the run out and tell what the model was told and what reached the API."""
    harness = driver(run.harness)
    clock = Clock()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-")))
        model = harness.model(run)
        api = stack.enter_context(Api(run.answers, lambda: model.turn))
        stack.enter_context(model)
        place = Place(home, project, Path(run.bundle), scratch, model.url, api.url)
        place, python = _with_path(_with_copy(place, run), run)
        run = surround(place, run)
        names = [harness.tool_name(place, call) for call in run.calls]
        made = [(names[i], harness.arguments(call)) for i, call in enumerate(run.calls)]
        ids = model.script(made, together=run.together)
        if run.replaced is not None:
            harness.replace_server(place, run.replaced)
        if run.fault is not None:
            faults.edit_hooks(run.fault, place.bundle, run.harness, log=scratch / faults.LOG)
        harness.settle(place, run)
        there = files_in(place.project)
        _provide_server(place, run)
        clock.lap("prepare")
        harness.install(place, run)
        clock.lap("install")

        def break_it() -> None:
            if run.fault is None:
                return
            if run.fault.kind == "python-gone" and python is not None:
                python.remove()
            elif python is not None:
                python.replace(run.fault.text, executable=run.fault.kind == "python")
            faults.break_bundle(run.fault, harness.installed_at(place), run.harness)

        if run.fault is not None and run.fault.when == "before-start":
            break_it()
        elif run.fault is not None:
            model.before = lambda turn: break_it() if turn == 0 else None
        command = harness.command(place, run) + run.surroundings.flags
        environment = harness.environment(place) | run.surroundings.environment
        if run.person is None:
            ended = _unattended(command, environment, place.project, run.seconds)
        else:
            ended = _attended(harness, command, environment, place.project, run)
        clock.lap("cli")
        report = harness.report(ended.output)
        requests = model.main_requests()
        told = _told(harness, requests, names, ids)
        return Result(
            version=report.version,
            exit_code=ended.exit_code,
            told=told,
            requests=list(api.requests),
            offered=model.offered(),
            servers=report.servers,
            notices=report.notices,
            fired=[*report.fired, *faults.logged(scratch / faults.LOG)],
            asked=report.asked,
            made=sorted(files_in(place.project) - there),
            screens=ended.screens,
            dialogs=ended.dialogs,
            not_ready=ended.not_ready or any(one.absent for one in told),
            unexpected=list(model.unexpected),
            seconds=clock.parts,
            stderr=ended.stderr[-4000:],
            error=ended.error or _no_words(requests, ended),
        )


def _told(harness: Harness, requests: list[dict[str, Any]], names: list[str], ids: list[str]) -> list[Told]:
    found = []
    for name, use_id in zip(names, ids, strict=True):
        seen = harness.seen(requests, use_id)
        by, absent = harness.refused_by(seen), harness.absent(seen)
        found.append(Told(name, seen.answered, seen.is_error, seen.text, seen.extra, by, absent))
    return found


def _with_copy(place: Place, run: Run) -> Place:
    """A bundle that is going to be changed is installed from a writable copy."""
    if run.fault is None and run.replaced is None:
        return place
    copy = place.home / "bundle"
    shutil.copytree(place.bundle, copy, copy_function=shutil.copyfile)
    return replace(place, bundle=copy)


def _with_path(place: Place, run: Run) -> tuple[Place, faults.ReplaceablePython | None]:
    if run.fault is None or not run.fault.kind.startswith("python"):
        return place, None
    python = faults.ReplaceablePython(place.scratch / "path", place.path)
    python.hide(run.fault.without)
    return replace(place, path=python.path), python


def surround(place: Place, run: Run) -> Run:
    """Write the files of the run's surroundings; the run with their texts, and its shell lines, filled in."""
    words = json.dumps([asdict(run.surroundings), [call.shell for call in run.calls]])
    if "{programs}" in words:
        python = faults.ReplaceablePython(place.scratch / "hostile", place.path)
        words = words.replace("{programs}", str(python.programs))
    fills = {"home": place.home, "project": place.project, "bundle": place.bundle, "path": place.path}
    fills |= {"model_port": place.model.rpartition(":")[2]}
    for name, value in fills.items():
        words = words.replace(f"{{{name}}}", str(value))
    texts, shells = json.loads(words)
    filled = Surroundings(**texts)
    for name, content in filled.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(0o755 if content.startswith("#!") else 0o644)
    calls = [replace(call, shell=shell) for call, shell in zip(run.calls, shells, strict=True)]
    return replace(run, surroundings=filled, calls=calls)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _provide_server(place: Place, run: Run) -> None:
    """Give the bundle's server its environment: made beforehand, or made now."""
    if run.prepared is not None:
        shutil.copytree(run.prepared, place.home / CACHE, symlinks=True, dirs_exist_ok=True)
    elif run.wheelhouse is not None:
        prepare(place.bundle, Path(run.wheelhouse), place.environment())


def prepare(bundle: Path, wheelhouse: Path, environment: dict[str, str]) -> None:
    command = ["python3", str(bundle / "mcp" / "server.py"), "prepare", "--wheelhouse", str(wheelhouse)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(
            f"prepare ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1500:]}"
        )


def _unattended(command: list[str], environment: dict[str, str], folder: Path, seconds: float) -> Ended:
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, stderr = process.communicate()
        return Ended(None, output, stderr, error=f"{command[0]} did not end within {seconds:g} s")
    return Ended(process.returncode, output, stderr)


def _attended(
    harness: Harness, command: list[str], environment: dict[str, str], folder: Path, run: Run
) -> Ended:
    ended = Ended(exit_code=0)
    with Terminal(command, environment, folder) as terminal:
        try:
            harness.converse(terminal, run, ended.dialogs)
        except TerminalError as error:
            ended.error, ended.not_ready = str(error), isinstance(error, NotReadyError)
        ended.screens = [*terminal.screens, terminal.screen()]
    return ended


def _no_words(requests: list[dict[str, object]], ended: Ended) -> str | None:
    if requests:
        return None
    return f"the harness never asked the model (it ended with {ended.exit_code})"

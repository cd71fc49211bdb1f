"""One run: starts the scripted model and the API, installs the bundle, starts the harness, reports."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anvil_lab.inside import faults
from anvil_lab.inside.claude import Claude
from anvil_lab.inside.http_api import Api
from anvil_lab.inside.place import Place
from anvil_lab.inside.records import Result, Run, Told
from anvil_lab.inside.scripted_messages import LAST_WORDS, Model, text, tool_use
from anvil_lab.inside.terminal import Terminal, TerminalError

if TYPE_CHECKING:
    from anvil_lab.inside.place import Harness

HARNESSES: dict[str, type[Harness]] = {"claude": Claude}
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
    error: str | None = None


def perform(run: Run, *, home: Path, project: Path) -> Result:
    """Carry the run out and tell what the model was told and what reached the API."""
    harness = HARNESSES[run.harness]()
    clock = Clock()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-")))
        model = Model([], None)
        api = stack.enter_context(Api(run.answers, lambda: model.turn))
        stack.enter_context(model)
        place = Place(home, project, Path(run.bundle), scratch, model.url, api.url)
        place, python = _with_path(_with_copy(place, run), run)
        names = [harness.tool_name(place, call) for call in run.calls]
        uses = [tool_use(i, names[i], harness.arguments(call)) for i, call in enumerate(run.calls)]
        model.turns = [*([use] for use in uses), [text(LAST_WORDS)]]
        if run.replaced is not None:
            harness.replace_server(place, run.replaced)
        harness.settle(place, run)
        _provide_server(place, run)
        clock.lap("prepare")
        harness.install(place, run)
        clock.lap("install")

        def break_it() -> None:
            if run.fault is None:
                return
            if python is not None:
                python.remove()
            faults.break_bundle(run.fault.kind, harness.installed_at(place), run.harness)

        if run.fault is not None and run.fault.when == "before-start":
            break_it()
        elif run.fault is not None:
            model.before = lambda turn: break_it() if turn == 0 else None
        command, environment = harness.command(place, run), harness.environment(place)
        if run.person is None:
            ended = _unattended(command, environment, place.project, run.seconds)
        else:
            ended = _attended(harness, command, environment, place.project, run)
        clock.lap("cli")
        report = harness.report(ended.output)
        requests = model.main_requests()
        told = []
        for name, use in zip(names, uses, strict=True):
            seen = harness.seen(requests, use["id"])
            told.append(
                Told(name, seen.answered, seen.is_error, seen.text, seen.extra, harness.refused_by(seen))
            )
        return Result(
            version=report.version,
            exit_code=ended.exit_code,
            told=told,
            requests=list(api.requests),
            offered=[str(tool.get("name")) for tool in requests[0]["tools"]] if requests else [],
            servers=report.servers,
            notices=report.notices,
            screens=ended.screens,
            unexpected=list(model.unexpected),
            seconds=clock.parts,
            stderr=ended.stderr[-4000:],
            error=ended.error or _no_words(requests, ended),
        )


def _with_copy(place: Place, run: Run) -> Place:
    """A bundle that is going to be changed is installed from a writable copy."""
    if run.fault is None and run.replaced is None:
        return place
    copy = place.home / "bundle"
    shutil.copytree(place.bundle, copy, copy_function=shutil.copyfile)
    return replace(place, bundle=copy)


def _with_path(place: Place, run: Run) -> tuple[Place, faults.RemovablePython | None]:
    if run.fault is None or run.fault.kind != "python-gone":
        return place, None
    python = faults.RemovablePython(place.scratch / "path", place.path)
    return replace(place, path=python.path), python


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
            harness.converse(terminal, run)
        except TerminalError as error:
            ended.error = str(error)
        ended.screens = [*terminal.screens, terminal.screen()]
    return ended


def _no_words(requests: list[dict[str, object]], ended: Ended) -> str | None:
    if requests:
        return None
    return f"the harness never asked the model (it ended with {ended.exit_code})"

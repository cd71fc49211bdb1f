"""Many runs in one container, some side by side, each in a home and a project of its own."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from anvil_lab.inside import stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anvil_lab.inside.records import Run

STATE = ".local/state/anvil"


def perform(runs: Sequence[Run], *, home: Path, project: Path, workers: int) -> list[dict[str, Any]]:
    """The results in the order of the runs, each as `{"result": ...}`, or `{"problem": "..."}`.

    Attended runs come one after the other, each with a fresh state folder: records and the ledger lie in the
    home that the system knows, whatever HOME says, and the calls of two scripts have the same ids.
    """
    attended = any(run.person is not None for run in runs)

    def one(number: int) -> dict[str, Any]:
        own = [folder / f"run-{number:03}" for folder in (home, project)]
        try:
            for folder in own:
                folder.mkdir()
            if attended:
                shutil.rmtree(home / STATE, ignore_errors=True)
            run = replace(runs[number], prepared=None)
            return {"result": asdict(stage.perform(run, home=own[0], project=own[1]))}
        except Exception as error:  # noqa: BLE001 - the other runs go on; the host fails on it
            return {"problem": f"{type(error).__name__}: {error}"}
        finally:
            for folder in own:
                shutil.rmtree(folder, ignore_errors=True)

    for prepared in sorted({run.prepared for run in runs if run.prepared is not None}):
        # Once for all: a bundle's server looks for its packages in the home that the system knows, whatever
        # HOME says.
        shutil.copytree(prepared, home / stage.CACHE, symlinks=True, dirs_exist_ok=True)
    with ThreadPoolExecutor(1 if attended else workers) as pool:
        return list(pool.map(one, range(len(runs))))

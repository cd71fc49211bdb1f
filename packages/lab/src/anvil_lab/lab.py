"""One harness image, ready to run trials in."""

from __future__ import annotations

import fcntl
import hashlib
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docker.errors import NotFound
from pydantic import TypeAdapter

from anvil_lab import base, cache, container, engine, images, pins
from anvil_lab.container import Limits, Mount
from anvil_lab.errors import LabError
from anvil_lab.images import LABEL
from anvil_lab.inside.records import Result
from anvil_lab.scenario import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from docker import DockerClient

    from anvil_lab.container import Finished
    from anvil_lab.inside.records import Run
    from anvil_lab.scenario import Trial

BUNDLE = "/bundle"
PREPARED = "/prepared"
WHEELHOUSE = "/opt/wheelhouse"
_RESULT = TypeAdapter(Result)
_IN_ONE_CONTAINER = 20
_SIDE_BY_SIDE = 2
_INSIDE = ("python3", "-m", "anvil_lab.inside")


@dataclass(frozen=True)
class Lab:
    client: DockerClient
    harness: str
    image: str
    key: str
    program: tuple[Mount, ...] = ()

    def trial(self, trial: Trial, bundle: Path) -> tuple[Result, float]:
        """Run a trial on a bundle; the result, and the seconds that it took in all."""
        mounts = [Mount(str(bundle), BUNDLE), Mount(self.prepared(bundle), PREPARED)]
        run = trial.run(self.harness, BUNDLE, PREPARED)
        with self._owned(run.surroundings.system) as owned:
            finished = self.execute([*_INSIDE, "run", json.dumps(as_json(run))], [*mounts, *owned])
        lines = finished.stdout.splitlines()
        if finished.exit_code != 0 or not lines:
            how = "timed out" if finished.timed_out else f"ended with {finished.exit_code}"
            raise LabError(f"the run {how}: {finished.stderr[-2000:]}")
        return _RESULT.validate_json(lines[-1]), finished.seconds

    def batch(
        self,
        runs: Sequence[Run],
        bundle: Path,
        once_more: Callable[[int, Result], bool] = lambda _number, _result: False,
    ) -> list[Result]:
        """Many runs, several to a container; those with files of the machine's owner are among their like.

        `once_more` says of a result that it tells nothing, as where the bundle's server was not up in time:
        such runs are made again, twice at most.
        """
        found: dict[int, Result] = {}
        wanted = list(range(len(runs)))
        for workers in (2, 1, 1):
            for part in _parts(wanted, runs):
                made = self._batch([runs[number] for number in part], bundle, workers)
                found |= dict(zip(part, made, strict=True))
            wanted = [number for number in wanted if once_more(number, found[number])]
        return [found[number] for number in range(len(runs))]

    def attended(self, runs: Sequence[Run], bundle: Path) -> list[Result]:
        """Runs with a person at the terminal: a few containers side by side, one run after the other in each.

        What did not come up in time is run again with more of it, twice at most; no other outcome is.
        """
        found: dict[int, Result] = {}
        wanted = list(range(len(runs)))
        for patience in (0, 5, 20):
            share = -(-len(wanted) // _SIDE_BY_SIDE) or 1
            parts = list(_parts(wanted, runs, min(share, _IN_ONE_CONTAINER)))
            wait = [[replace(runs[number], patience=patience) for number in part] for part in parts]
            with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                made = pool.map(lambda part: self._batch(part, bundle, 1), wait)
                for part, results in zip(parts, made, strict=True):
                    found |= dict(zip(part, results, strict=True))
            wanted = [number for number in wanted if found[number].not_ready]
        return [found[number] for number in range(len(runs))]

    def _batch(self, runs: Sequence[Run], bundle: Path, workers: int) -> list[Result]:
        if not runs:
            return []
        mounts = [Mount(str(bundle), BUNDLE), Mount(self.prepared(bundle), PREPARED)]
        command = [*_INSIDE, "batch", str(workers), json.dumps([as_json(run) for run in runs])]
        limits = Limits(memory="4g", processes=1024, seconds=90 * len(runs))
        with self._owned(runs[0].surroundings.system) as owned:
            finished = self.execute(command, [*mounts, *owned], limits)
        lines = [json.loads(line) for line in finished.stdout.splitlines()]
        problems = [line["problem"] for line in lines if "problem" in line]
        if finished.exit_code != 0 or problems or len(lines) != len(runs):
            raise LabError(f"a batch of runs failed: {problems or finished.stderr[-2000:]}")
        return [_RESULT.validate_python(line["result"]) for line in lines]

    def execute(
        self, command: Sequence[str], mounts: Sequence[Mount] = (), limits: Limits | None = None
    ) -> Finished:
        mounts = [*self.program, *mounts]
        return container.run(self.client, self.image, command, mounts=mounts, limits=limits)

    @contextmanager
    def _owned(self, files: dict[str, str]) -> Iterator[list[Mount]]:
        """Files of the machine's owner: texts, or copies of other files of the image."""
        with tempfile.TemporaryDirectory(prefix="anvil-lab-") as folder:
            mounts = []
            for number, (path, text) in enumerate(sorted(files.items())):
                source = Path(folder, str(number))
                copied = text.startswith("@")
                source.write_bytes(
                    container.read(self.client, self.image, text[1:]) if copied else text.encode()
                )
                source.chmod(0o755)
                mounts.append(Mount(str(source), path))
            yield mounts

    def prepared(self, bundle: Path) -> str:
        """Name of a volume with the environment of the bundle's server, made once per lock and launcher."""
        digest = hashlib.sha256(self.key.encode())
        for name in ("server.py", "requirements.lock"):
            path = bundle / "mcp" / name
            digest.update(path.read_bytes() if path.is_file() else b"")
        name = f"anvil-lab-prepared-{digest.hexdigest()[:16]}"
        done = cache.cache_dir() / f"{name}.done"  # a volume without it was interrupted while it was filled
        with done.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self._has_volume(name) and done.exists()):
                self._prepare(bundle, name)
                done.touch()
        return name

    def _has_volume(self, name: str) -> bool:
        try:
            self.client.volumes.get(name)
        except NotFound:
            return False
        return True

    def _prepare(self, bundle: Path, name: str) -> None:
        if self._has_volume(name):
            self.client.volumes.get(name).remove(force=True)
        volume = self.client.volumes.create(name, labels={LABEL: "prepared"})
        mounts = [Mount(str(bundle), BUNDLE), Mount(name, PREPARED, writable=True)]
        finished = self.execute([*_INSIDE, "prepare", BUNDLE, WHEELHOUSE, PREPARED], mounts)
        if finished.exit_code != 0:
            volume.remove(force=True)
            raise LabError(f"the bundle's server cannot be prepared: {finished.stderr[-2000:]}")


def _parts(wanted: Sequence[int], runs: Sequence[Run], most: int = _IN_ONE_CONTAINER) -> Iterator[list[int]]:
    """The runs for one container each: no more than it takes, and all with the same files of its owner."""
    alike: dict[str, list[int]] = {}
    for number in wanted:
        alike.setdefault(json.dumps(runs[number].surroundings.system, sort_keys=True), []).append(number)
    for numbers in alike.values():
        for start in range(0, len(numbers), most):
            yield numbers[start : start + most]


def start(harness: str, folder: Path | None = None) -> Lab:
    """Find the engine, remove what an interrupted run left, and build the image where it is missing."""
    client = engine.connect()
    container.remove_strays(client)
    folder = folder or pins.find_images()
    pinned = pins.load(folder)
    reference = base.ensure(client, pinned.base, cache.cache_dir())
    recipe = images.Recipe(harness, pinned.of(harness), reference, folder, cache.cache_dir())
    return Lab(client, harness, images.ensure(client, recipe), recipe.key())

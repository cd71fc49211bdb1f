"""End-to-end tests: real harnesses in containers. They run only where this folder is named to pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anvil_lab import lab as labs
from anvil_lab import pins, table
from anvil_lab.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anvil_lab.lab import Lab

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = pytest.StashKey[list[table.Row]]()
VARIANTS = {None: [], "no-human-approval": ["--human-approval", "none"]}
FOLDERS = {"paypal": "paypal-payments"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--harness", action="append", help="run on this harness only (may be given again)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "harness" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--harness") or sorted(pins.load(ROOT / pins.FOLDER).harness)
        metafunc.parametrize("harness", wanted, scope="session")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = (Path(argument.split("::")[0]).resolve() for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ROWS] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash[ROWS]:
        terminalreporter.section("what ran and what was refused")
        for line in table.render(config.stash[ROWS]):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def start_lab() -> Iterator[Callable[[str], Lab]]:
    """The lab of one harness. Where there is no engine: a failure in CI, a skip on a laptop."""
    started: dict[str, Lab] = {}

    def start(harness: str) -> Lab:
        if harness not in started:
            try:
                started[harness] = labs.start(harness, ROOT / pins.FOLDER)
            except UnavailableError as error:
                if os.environ.get("CI") or os.environ.get("ANVIL_E2E") == "required":
                    pytest.exit(str(error), returncode=1)
                pytest.skip(f"{error} (ANVIL_E2E=required makes this a failure)")
        return started[harness]

    yield start
    for lab in started.values():
        lab.client.close()


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str | None], Path]:
    """A compiled bundle by name and variant: what `nox -s generate` made, or compiled here, once."""
    made: dict[tuple[str, str | None], Path] = {}

    def bundle(name: str, variant: str | None = None) -> Path:
        if name == "tiny":
            return HERE / "tiny"
        generated = ROOT / "dist" / "bundles" / FOLDERS.get(name, name)
        if variant is None and generated.is_dir():
            return generated
        if (name, variant) not in made:
            out = tmp_path_factory.mktemp("bundles") / f"{name}-{variant or 'plain'}"
            project = ROOT / "examples" / FOLDERS.get(name, name)
            command = [sys.executable, "-m", "anvil_generator", "compile", str(project), "--out", str(out)]
            done = subprocess.run([*command, *VARIANTS[variant]], check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            made[name, variant] = out
        return made[name, variant]

    return bundle


@pytest.fixture
def rows(request: pytest.FixtureRequest) -> list[table.Row]:
    return request.config.stash[ROWS]

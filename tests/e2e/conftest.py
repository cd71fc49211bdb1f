"""End-to-end tests: real harnesses in containers. They run only where this folder is named to pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from anvil_lab import lab as labs
from anvil_lab import pins, table
from anvil_lab.contract import integrity, program
from anvil_lab.errors import UnavailableError
from anvil_lab.inside import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anvil_lab.lab import Lab

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = pytest.StashKey[list[table.Row]]()
FOLDERS = {"paypal": "paypal-payments"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--harness", action="append", help="run on this harness only (may be given again)")
    parser.addoption("--full", action="store_true", help="the whole tables, not their cores")
    parser.addoption("--write-docs", action="store_true", help="write the tables into docs/reference")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = metafunc.config.getoption("--harness") or sorted(pins.load(ROOT / pins.FOLDER).harness)
    if "harness" in metafunc.fixturenames:
        metafunc.parametrize("harness", wanted, scope="session")
    if "harness_and_shape" in metafunc.fixturenames:
        pairs = [(harness, shape) for harness in wanted for shape in stage.driver(harness).shapes]
        names = ["-".join(filter(None, pair)) for pair in pairs]
        metafunc.parametrize("harness_and_shape", pairs, ids=names, scope="session")


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
def start_lab() -> Iterator[Callable[..., Lab]]:
    """The lab of one harness. Where there is no engine: a failure in CI, a skip on a laptop.

    With a version that is not the pinned one, its program is mounted over the image's; which bytes that is,
    its lock says (`contracts/<harness>/integrity.lock`).
    """
    started: dict[str, Lab] = {}
    mounted = ExitStack()

    def start(harness: str, version: str | None = None) -> Lab:
        if version is not None:
            pinned = pins.load(ROOT / pins.FOLDER).of(harness)
            pin = integrity.resolve(pinned, version, integrity.read(integrity.place(ROOT, harness)))
            mounts = mounted.enter_context(program.mounted(harness, pin))
            return replace(start(harness), program=tuple(mounts))
        if harness not in started:
            try:
                started[harness] = labs.start(harness, ROOT / pins.FOLDER)
            except UnavailableError as error:
                if os.environ.get("CI") or os.environ.get("ANVIL_E2E") == "required":
                    pytest.exit(str(error), returncode=1)
                pytest.skip(f"{error} (ANVIL_E2E=required makes this a failure)")
        return started[harness]

    with mounted:
        yield start
    for lab in started.values():
        lab.client.close()


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str | None], Path]:
    """A bundle by name and variant, compiled once from the examples as they are now.

    Not those in `dist`: they may be old, and another run may replace them while they are mounted.
    """
    made: dict[tuple[str, str | None], Path] = {("tiny", None): HERE / "tiny"}

    def bundle(name: str, variant: str | None = None) -> Path:
        if (name, variant) not in made:
            work = tmp_path_factory.mktemp("bundle")
            project = ROOT / "examples" / FOLDERS.get(name, name)
            if variant is not None:
                project = shutil.copytree(project, work / "project")
                VARIANTS[variant](project)
            anvil("compile", str(project), "--out", str(work / name))
            made[name, variant] = work / name
        return made[name, variant]

    return bundle


def anvil(*arguments: str) -> None:
    command = [sys.executable, "-m", "anvil_generator", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"anvil {' '.join(arguments)}: {done.stdout}{done.stderr}"


def without_human_approval(project: Path) -> None:
    """Take the demand for a person out of the manifest, and approve what that has changed."""
    path = project / "anvil.yaml"
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    manifest["human_approval"] = "none"
    changed = [
        name
        for name, operation in manifest["operations"].items()
        if operation.get("confirmation", {}).pop("human_approval", None)
    ]
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    anvil("approve", str(project), *changed, "--by", "the end-to-end tests")


def with_a_dash(project: Path) -> None:
    """Call the service by a name that another server's name can be spelled like, and approve all anew."""
    path = project / "anvil.yaml"
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    manifest["service"] = "pay-ments"
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    (project / "approvals.yaml").unlink()
    anvil("approve", str(project), "--reads", "--by", "the end-to-end tests")
    anvil("approve", str(project), "refunds.create", "payouts.create", "--by", "the end-to-end tests")


def with_loopback_credentials(project: Path) -> None:
    """Let the local API have what the real one gets, and approve the reads anew."""
    path = project / "anvil.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "loopback_credentials: true\n", encoding="utf-8")
    (project / "approvals.yaml").unlink()
    anvil("approve", str(project), "--reads", "--by", "the end-to-end tests")


def with_delete_approved(project: Path) -> None:
    """Approve the operation that asks for a confirmation and for no key."""
    path = project / "anvil.yaml"
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    del manifest["operations"]["customers.delete"]
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    anvil("approve", str(project), "customers.delete", "--by", "the end-to-end tests")


VARIANTS = {
    "delete-approved": with_delete_approved,
    "no-human-approval": without_human_approval,
    "dashed-service": with_a_dash,
    "loopback-credentials": with_loopback_credentials,
}


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@pytest.fixture
def check_page(request: pytest.FixtureRequest, full: bool) -> Callable[..., None]:
    """Compare a rendered table with its page in docs/reference, or write it with --full --write-docs.

    Of a part of a table, each line must stand in the page; a `whole` text is compared in the short form too.
    """

    def check(name: str, text: str, *, whole: bool = False) -> None:
        path = ROOT / "docs" / "reference" / name
        if full and request.config.getoption("--write-docs"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        page = path.read_text(encoding="utf-8")
        if full or whole:
            assert page == text, f"{name} is old: --full --write-docs"
        rows = {line for line in text.splitlines() if line.startswith("|")}
        assert rows <= set(page.splitlines()), f"{name} is old: --full --write-docs"

    return check


@pytest.fixture
def rows(request: pytest.FixtureRequest) -> list[table.Row]:
    return request.config.stash[ROWS]

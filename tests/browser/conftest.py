"""Tests in a real browser. They run only where this folder is named to pytest: `nox -s docs -- --browser`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")


def pytest_ignore_collect(collection_path, config):
    named = (Path(argument.split("::")[0]).resolve() for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


@pytest.fixture(scope="session")
def browser():
    """A browser of the system: `ANVIL_BROWSER`, else Chromium from PATH. Without one: a failure in CI."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("ANVIL_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        said = "no browser: install chromium, or set ANVIL_BROWSER to the program"
        pytest.exit(said, returncode=1) if os.environ.get("CI") else pytest.skip(said)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()

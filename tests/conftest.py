"""What all tests share. Helpers to import are in tests/support."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from anvil_runtime.state import StateFolder

E2E = Path(__file__).parent / "e2e"
GOLDEN = Path(__file__).parent / "golden"

# How long one example takes is the machine's affair; a test that hangs meets the limit of the whole test.
settings.register_profile("anvil", deadline=None)
settings.load_profile("anvil")


def pytest_ignore_collect(collection_path, config):
    """The real harnesses run only when they are asked for: ``pytest tests/e2e --harness ID``.

    A golden tree holds a bundle's own tests, which belong to that bundle.
    """
    if collection_path.parent == GOLDEN and collection_path.is_dir():
        return True
    if collection_path != E2E:
        return None
    asked = [Path(config.invocation_params.dir, str(arg).partition("::")[0]).resolve() for arg in config.args]
    return None if any(E2E in (path, *path.parents) for path in asked) else True


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory):
    """No executor that a test makes writes into the state of whoever runs the tests, or of another test."""
    parent = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        usual = StateFolder.of
        patch.setattr(StateFolder, "of", lambda service: StateFolder(str(parent / usual(service).name)))
        yield parent

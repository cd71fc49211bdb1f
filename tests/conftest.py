"""What all tests share. Helpers to import are in tests/support."""

from __future__ import annotations

from pathlib import Path

E2E = Path(__file__).parent / "e2e"


def pytest_ignore_collect(collection_path, config):
    """The real harnesses run only when they are asked for: ``pytest tests/e2e --harness ID``."""
    if collection_path != E2E:
        return None
    asked = [Path(config.invocation_params.dir, str(arg).partition("::")[0]).resolve() for arg in config.args]
    return None if any(E2E in (path, *path.parents) for path in asked) else True

"""An install's whole life on six homes, with the real programs. Runs in ``nox -s doctor-real``."""

from __future__ import annotations

import pytest
from support import homes, real_programs

from anvil_shims.claude import install as claude
from anvil_shims.codex import install as codex

INSTALLERS = {"claude": claude, "codex": codex}
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("name", homes.NAMES)
@pytest.mark.parametrize("harness", sorted(INSTALLERS))
def test_only_our_entries_come_and_go(harness, name, tmp_path):
    home = homes.make_home(name, harness, tmp_path, real_programs.program(harness))
    homes.live(home, homes.make_bundle(tmp_path / "bundle"), INSTALLERS[harness])

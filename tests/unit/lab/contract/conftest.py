from __future__ import annotations

import pytest

from anvil_lab.contract.record import Record
from anvil_lab.pins import HarnessPin

NPM = """#!/bin/sh
echo "$2" >> "$(dirname "$0")/asked"
case "$3" in
  dist-tags) cat "$(dirname "$0")/tags" ;;
  versions) cat "$(dirname "$0")/versions" ;;
  dist.integrity) cat "$(dirname "$0")/integrity" ;;
  *) echo "what is $*" >&2; exit 1 ;;
esac
"""
OLD, NEW = "sha512-" + "o" * 86 + "==", "sha512-" + "n" * 86 + "=="


@pytest.fixture
def pin():
    return HarnessPin(package="@scope/one", version="1.2.3", integrity=OLD, binary="package/one")


@pytest.fixture
def npm_program(tmp_path, monkeypatch):
    """A folder on PATH with an npm that answers with what its files say."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(NPM)
    (programs / "npm").chmod(0o755)
    (programs / "tags").write_text('{"latest": "1.3.0", "next": "2.0.0"}')
    (programs / "versions").write_text(
        '["1.2.3", "1.2.10", "1.2.9", "1.3.0-rc.1", "1.3.0", "1.2.9-linux-x64"]'
    )
    (programs / "integrity").write_text(f'"{NEW}"')
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


@pytest.fixture
def record():
    def make(version="1.2.3", **facts):
        named = {name.replace("_", "."): fact for name, fact in facts.items()}
        return Record(harness="claude", version=version, integrity=OLD, facts=named)

    return make

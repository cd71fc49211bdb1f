"""The policy is written into ``anvil.yaml`` and everything else stays as it was."""

from __future__ import annotations

import pytest
import yaml

from anvil_generator.manifest_edit import set_human_approval

TEXT = """\
# The contract.
document: "api.json"   # quoted

operations:
  a:   {risk: high}    # why
  'GET /b':
    confirmation: {reason: "Because: it is."}
"""


@pytest.mark.parametrize("said", ["", "human_approval: none  # for now\n"])
@pytest.mark.parametrize("policy", ["unsafe", "all"])
def test_it_changes_one_key(tmp_path, said, policy):
    path = tmp_path / "anvil.yaml"
    path.write_text(TEXT + said, encoding="utf-8")
    set_human_approval(path, policy)
    after = path.read_text(encoding="utf-8")
    assert yaml.safe_load(after) == {**yaml.safe_load(TEXT), "human_approval": policy}
    for comment in ("# The contract.", "# quoted", "# why", *(["# for now"] if said else [])):
        assert comment in after
    kept = [line for line in after.splitlines() if "human_approval" not in line]
    assert [line.split() for line in kept if line] == [line.split() for line in TEXT.splitlines() if line]


def test_what_is_there_already_is_not_written(tmp_path):
    path = tmp_path / "anvil.yaml"
    path.write_bytes(b"document:   api.json\r\nhuman_approval: all\r\n")
    before = path.read_bytes()
    set_human_approval(path, "all")
    assert path.read_bytes() == before

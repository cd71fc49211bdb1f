from __future__ import annotations

import json

import pytest

from anvil_lab.contract import rows
from anvil_lab.errors import LabError

ROW = "{id: a.b, says: A, observe: [outcome]}"


def load(tmp_path, *lines):
    (tmp_path / "claude.yaml").write_text("probes:\n" + "".join(f"  - {line}\n" for line in lines))
    return rows.load("claude", tmp_path)


def test_rows_are_sorted_and_filled_with_what_is_usual(tmp_path):
    found = load(tmp_path, "{id: b.b, says: B, observe: [told], hooks: [{}]}", ROW)
    assert [probe.id for probe in found] == ["a.b", "b.b"]
    assert (found[0].mode, found[0].rule, found[0].hooks) == ("default", "none", [])
    assert found[1].hooks[0].matcher == "{own}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{id: a.b, says: A, observe: [otcome]}", "no such facet: otcome"),
        ("{id: a.b, says: A, observe: []}", "observe"),
        ("{id: a b, says: A, observe: [outcome]}", "id"),
        ("{id: a.b, says: A, observe: [outcome], rules: allow}", "rules"),
        ("{id: a.b, says: A, observe: [command]}", "observes the command"),
        ("{id: a.b, says: A, observe: [outcome], command: [x]}", "observes the command"),
        ("{id: a.b, says: A, observe: [outcome], call: {tool: x, name: y}}", "either a tool or a name"),
        ("{id: a.b, says: A, observe: [outcome], approval: prompt}", "claude has no approval"),
        ("{id: a.b", "claude.yaml"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, line, words):
    with pytest.raises(LabError, match=words):
        load(tmp_path, line)


def test_an_id_stands_once(tmp_path):
    with pytest.raises(LabError, match=r"a\.b is taken"):
        load(tmp_path, ROW, ROW)


def test_a_harness_without_probes(tmp_path):
    with pytest.raises(LabError, match="no probes for other"):
        rows.load("other", tmp_path)


def test_the_container_gets_no_unset_acts(tmp_path):
    dumped = json.loads(rows.as_json(load(tmp_path, "{id: a.b, says: A, observe: [told], hooks: [{}]}")))
    assert "signal" not in dumped[0]["hooks"][0]["does"]
    assert dumped[0]["call"] == {"tool": "write", "args": {}}

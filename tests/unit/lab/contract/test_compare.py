from __future__ import annotations

import json

import pytest

from anvil_lab.contract import __main__ as command
from anvil_lab.contract import record as records
from anvil_lab.contract import relied
from anvil_lab.contract.compare import Change, compare
from anvil_lab.errors import LabError

RELIED = {"deny.bypass:outcome": "blocked", "input.event:stdin/mcp_server/name": "string"}


def test_equal_records_have_no_changes(record):
    one, two = record(deny_bypass={"outcome": "blocked"}), record("1.3.0", deny_bypass={"outcome": "blocked"})
    found = compare(one, two, RELIED)
    assert not found.changes
    assert "No fact differs." in found.markdown({})


def test_a_change_of_what_is_relied_on_is_breaking_and_named(record):
    found = compare(
        record(deny_bypass={"outcome": "blocked", "told": "a"}),
        record("1.3.0", deny_bypass={"outcome": "ran", "told": "b"}),
        RELIED,
    )
    assert found.breaking == (Change("deny.bypass:outcome", "changed", "blocked", "ran", breaking=True),)
    assert [change.path for change in found.changes] == ["deny.bypass:outcome", "deny.bypass:told"]
    text = found.markdown({"deny.bypass": "A denial beats bypassPermissions"})
    breaking, other = text.split("## Other changes")
    assert "`deny.bypass:outcome`, changed: A denial beats bypassPermissions" in breaking
    assert "was `blocked`" in breaking
    assert "is `ran`" in breaking
    assert "deny.bypass:told" in other
    assert "1.2.3 -> 1.3.0" in text


def test_a_key_that_is_gone_is_breaking_and_a_new_one_is_not(record):
    old = record(input_event={"stdin": {"mcp_server": {"name": "string"}, "cwd": "string"}})
    new = record(input_event={"stdin": {"cwd": "string", "more": "string"}})
    found = {change.path: (change.kind, change.breaking) for change in compare(old, new, RELIED).changes}
    assert found == {
        "input.event:stdin/mcp_server/name": ("removed", True),
        "input.event:stdin/more": ("added", False),
    }


def test_a_row_that_could_not_be_acted_out_is_breaking(record):
    found = compare(record(deny_bypass={"outcome": "blocked"}), record(deny_bypass={"error": "no"}), RELIED)
    assert [change.path for change in found.breaking] == ["deny.bypass:outcome"]


def test_values_are_compared_with_their_kinds(record):
    found = compare(
        record(a_b={"exit": 1, "list": [1, {"x": 1}]}), record(a_b={"exit": True, "list": [1, {"x": 2}]}), {}
    )
    assert [change.path for change in found.changes] == ["a.b:exit", "a.b:list"]


def test_what_a_program_said_cannot_leave_its_line(record):
    said = "x`\n## Breaking\n@someone [a](b)"
    text = compare(record(a_b={"told": "y"}), record(a_b={"told": said}), {}).markdown({})
    assert "is `x' ## Breaking @someone [a](b)`" in text


def test_equal_facts_are_equal_bytes(record):
    one = record(b_c={"y": 1, "x": {"d": 1, "c": "ü"}}, a_b={"z": 1})
    two = record(a_b={"z": 1}, b_c={"x": {"c": "ü", "d": 1}, "y": 1})
    assert one.text() == two.text()
    assert one.text().isascii()
    assert one.text().endswith("}\n")


def test_a_record_is_read_back(record, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(record(a_b={"z": [1]}).text())
    assert records.read(path) == record(a_b={"z": [1]})
    path.write_text("{}")
    with pytest.raises(LabError, match="not a contract record"):
        records.read(path)


def test_broken_says_what_the_contract_relies_on(record):
    lines = relied.broken(record(deny_bypass={"outcome": "ran"}), RELIED)
    assert lines == [
        "deny.bypass:outcome is 'ran'; the contract relies on 'blocked'",
        "input.event:stdin/mcp_server/name is not in the record; the contract relies on 'string'",
    ]


@pytest.mark.parametrize(("outcome", "code"), [("blocked", 0), ("ran", 3)])
def test_the_command_ends_with_3_where_something_breaks(record, tmp_path, monkeypatch, capsys, outcome, code):
    monkeypatch.setattr(relied, "load", lambda *_: RELIED)
    for name, value in (("old", "blocked"), ("new", outcome)):
        (tmp_path / name).write_text(record(deny_bypass={"outcome": value, "told": name}).text())
    arguments = ["compare", str(tmp_path / "old"), str(tmp_path / "new")]
    assert command.main(arguments) == code
    assert "deny.bypass:told" in capsys.readouterr().out
    assert command.main([*arguments, "--json"]) == code
    said = json.loads(capsys.readouterr().out)
    assert said["breaking"] is (code == 3)
    assert said["changes"][-1] == {
        "path": "deny.bypass:told", "kind": "changed", "old": "old", "new": "new", "breaking": False,
        "first": None,
    }  # fmt: skip


def test_the_command_ends_with_1_where_it_fails(tmp_path, capsys):
    assert command.main(["compare", str(tmp_path / "none"), str(tmp_path / "none")]) == 1
    assert "not a contract record" in capsys.readouterr().err

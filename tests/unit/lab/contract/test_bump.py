"""A pin is raised only to what was recorded, holds, and is what npm has; nothing else in the files moves."""

from __future__ import annotations

import json

import pytest

from anvil_lab import pins
from anvil_lab.contract import __main__ as command
from anvil_lab.contract import bump, integrity, message, relied, rows, verified
from anvil_lab.contract import record as records
from anvil_lab.contract.compare import compare

NEW = "sha512-" + "n" * 86 + "=="
NOTES = (
    "# Changelog\n\n## 0.2.0 (unreleased)\n\n- One.\n- claude 1.2.0 is pinned (was 1.1.0).\n"
    "\n## 0.1.0\n\n- Old.\n"
)
RELIED = {"deny.bypass:outcome": "blocked"}


@pytest.fixture
def checkout(tmp_path, images_folder, monkeypatch, record, npm_program):
    """A checkout with the record of the pinned version, and the folder of a watch of 1.3.0."""
    made = tmp_path / "checkout"
    (made / pins.FOLDER).mkdir(parents=True)
    text = (images_folder / pins.FILE).read_text().replace('version = "2.1.332"', 'version = "1.2.3"  # why')
    (made / pins.FOLDER / pins.FILE).write_text(text)
    (made / bump.CHANGELOG).write_text(NOTES)
    contract = made / relied.FILE.format(harness="claude")
    contract.parent.mkdir(parents=True)
    contract.write_text('[relies_on]\n"deny.bypass:outcome" = "blocked"\n')
    old = record(deny_bypass={"outcome": "blocked", "told": "old"})
    put(records.place(made, "claude", "1.2.3"), old)
    put(tmp_path / "watched" / "1.3.0.json", seen(record))
    (tmp_path / "watched" / "comparison.json").write_text("{}")
    monkeypatch.setattr(rows, "load", lambda _: [rows.Probe(id="deny.bypass", says="x", observe=["outcome"])])
    monkeypatch.chdir(made)
    return made


def seen(record, outcome="blocked", **changed):
    made = record("1.3.0", deny_bypass={"outcome": outcome, "told": "new"})
    return made.model_copy(update={"integrity": NEW, **changed})


def put(path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.text())


def test_pin_record_lock_and_changelog_are_raised_and_nothing_else_moves(checkout, tmp_path, capsys):
    before = (checkout / pins.FOLDER / pins.FILE).read_text().splitlines()
    was = pins.load(checkout / pins.FOLDER).of("claude")
    assert command.main(["bump", "claude", str(tmp_path / "watched")]) == 0
    assert "1.3.0 is pinned now" in capsys.readouterr().out
    now = pins.load(checkout / pins.FOLDER).of("claude")
    assert (now.version, now.integrity) == ("1.3.0", NEW)
    assert now == was.model_copy(update={"version": "1.3.0", "integrity": NEW})
    after = (checkout / pins.FOLDER / pins.FILE).read_text().splitlines()
    assert len([1 for one, other in zip(before, after, strict=True) if one != other]) == 2
    assert any(line.endswith('"1.3.0"  # why') for line in after)
    assert records.read(records.place(checkout, "claude", "1.3.0")).integrity == NEW
    assert integrity.read(integrity.place(checkout, "claude")) == {"1.3.0": NEW}
    said = json.loads(verified.place(checkout, "claude").read_text())
    assert said == {"minimum": "1.2.3", "newest": "1.3.0", "broken": {"1.2.3": [], "1.3.0": []}}
    notes = (checkout / bump.CHANGELOG).read_text()
    assert notes == NOTES.replace("1.2.0 is pinned", "1.3.0 is pinned")
    assert command.main(["bump", "claude", str(tmp_path / "watched")]) == 0
    assert "the pin is the newest" in capsys.readouterr().out
    assert (checkout / bump.CHANGELOG).read_text() == notes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"facts": {"deny.bypass": {"outcome": "ran"}}}, "does not hold in 1.3.0"),
        ({"facts": {}}, "other probes than this checkout"),
        ({"integrity": "sha512-" + "x" * 86 + "=="}, "other bytes"),
        ({"version": "1.0.0"}, "older than 1.2.3"),
        ({"harness": "codex"}, "is of codex"),
    ],
)
def test_what_must_not_be_pinned_is_refused_and_nothing_is_written(
    checkout, tmp_path, record, capsys, change, words
):
    put(tmp_path / "watched" / "1.3.0.json", seen(record, **change))
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    assert command.main(["bump", "claude", str(tmp_path / "watched")]) == 1
    assert words in capsys.readouterr().err
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_a_folder_without_one_record_is_refused(checkout, tmp_path, capsys):
    assert command.main(["bump", "claude", str(tmp_path / "nothing")]) == 1
    assert "holds 0 records" in capsys.readouterr().err


def test_a_changelog_with_one_release_gets_its_line(checkout, tmp_path):
    (checkout / bump.CHANGELOG).write_text("# Changelog\n\n## 0.1.0\n\n- One.\n")
    assert bump.bump(checkout, "claude", tmp_path / "watched") == "1.3.0"
    wanted = "# Changelog\n\n## 0.1.0\n\n- One.\n- claude 1.3.0 is pinned (was 1.2.3).\n"
    assert (checkout / bump.CHANGELOG).read_text() == wanted


@pytest.mark.parametrize(
    ("version", "outcome", "action", "words"),
    [
        ("1.2.3", "blocked", "none", ""),
        ("1.3.0", "blocked", "pin", "1 other fact differ"),
        ("1.3.0", "ran", "issue", "--only deny.bypass --out new.json"),
    ],
)
def test_the_text_of_a_pin_or_of_an_issue(record, version, outcome, action, words):
    old = record(deny_bypass={"outcome": "blocked", "told": "old"})
    new = record(version, deny_bypass={"outcome": outcome, "told": "old" if action == "none" else "new"})
    found = compare(old, new, RELIED)
    text = message.body(found, {"deny.bypass": "A denial beats bypassPermissions"})
    assert message.action(found) == action
    assert words in text
    assert text.startswith(
        {"none": "", "pin": "# Pin claude 1.3.0\n", "issue": "# claude 1.3.0: the con"}[action]
    )
    assert ("A denial beats" in text) is (action != "none")


def test_the_range_ends_where_something_does_not_hold(record):
    def at(version, outcome="blocked"):
        return record(version, deny_bypass={"outcome": outcome})

    found = [at("1.0.0"), at("1.1.0", "ran"), at("1.2.0"), at("1.10.0")]
    said = verified.summary(found, RELIED)
    assert (said["minimum"], said["newest"]) == ("1.2.0", "1.10.0")
    assert said["broken"]["1.1.0"] == ["deny.bypass:outcome"]
    with pytest.raises(Exception, match="no record in which"):
        verified.summary(found[:2], RELIED)

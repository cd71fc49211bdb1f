"""The whole watch, with an npm and a recorder that say what the test wants."""

from __future__ import annotations

import json

import pytest

from anvil_lab import pins
from anvil_lab.contract import __main__ as command
from anvil_lab.contract import record as records
from anvil_lab.contract import recorder, relied
from anvil_lab.errors import LabError


@pytest.fixture
def checkout(tmp_path, images_folder, monkeypatch, record):
    """A checkout with pins, contracts, and the records of the pinned versions."""
    made = tmp_path / "checkout"
    (made / pins.FOLDER).mkdir(parents=True)
    (made / pins.FOLDER / pins.FILE).write_text((images_folder / pins.FILE).read_text())
    for harness, pin in pins.load(made / pins.FOLDER).harness.items():
        contract = made / relied.FILE.format(harness=harness)
        contract.parent.mkdir(parents=True)
        contract.write_text('[relies_on]\n"deny.bypass:outcome" = "blocked"\n')
        path = records.place(made, harness, pin.version)
        path.parent.mkdir(parents=True)
        known = record(pin.version, deny_bypass={"outcome": "blocked", "told": "old"})
        path.write_text(known.model_copy(update={"harness": harness}).text())
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def observed(monkeypatch):
    """What the recorder will find; the pins that it was given."""
    facts, asked = {"deny.bypass": {"outcome": "blocked", "told": "new"}}, []

    def made(harness, pin, _images, only=(), planted=None):
        asked.append(pin)
        seen = records.Record(harness=harness, version=pin.version, integrity=pin.integrity, facts=facts)
        return recorder.Recorded(seen, dict.fromkeys(facts, 1.0))

    monkeypatch.setattr(recorder, "record", made)
    return facts, asked


@pytest.mark.parametrize("harness", ["claude", "codex"])
@pytest.mark.parametrize(("outcome", "code"), [("blocked", 0), ("ran", 3)])
def test_the_watch_ends_with_3_where_the_newest_version_breaks_something(
    checkout, npm_program, observed, tmp_path, capsys, outcome, code, harness
):
    observed[0]["deny.bypass"]["outcome"] = outcome
    before = sorted(path for path in checkout.rglob("*") if path.is_file())
    assert command.main(["watch", harness, "--out", str(tmp_path / "out")]) == code
    between = {"claude": [], "codex": ["1.2.9"]}[harness]  # what npm has between the pinned and the newest
    assert [pin.version for pin in observed[1]] == ["1.3.0", *between]
    said = capsys.readouterr().out
    assert f"first in `{'1.2.9' if between else '1.3.0'}`" in said
    assert "deny.bypass:told" in said
    assert ("## Breaking" in said) is (code == 3)
    assert (tmp_path / "out" / "comparison.md").read_text().strip() == said.strip()
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["breaking"] is (code == 3)
    assert records.read(tmp_path / "out" / "1.3.0.json").version == "1.3.0"
    assert sorted(path for path in checkout.rglob("*") if path.is_file()) == before


def test_without_a_record_of_the_pinned_version_nothing_is_run(
    checkout, npm_program, observed, tmp_path, capsys
):
    for path in (checkout / "contracts" / "claude").iterdir():
        path.unlink()
    assert command.main(["watch", "claude", "--out", str(tmp_path / "out")]) == 1
    assert "not a contract record" in capsys.readouterr().err
    assert observed[1] == []


def test_recording_another_version_keeps_its_digest(checkout, npm_program, observed, capsys):
    assert command.main(["record", "claude", "1.3.0"]) == 0
    lock = checkout / "contracts" / "claude" / "integrity.lock"
    assert lock.read_text() == f"1.3.0 {observed[1][0].integrity}\n"
    assert (checkout / "contracts" / "claude" / "1.3.0.json").is_file()
    (npm_program / "npm").unlink()
    assert command.main(["record", "claude", "1.3.0"]) == 0
    lock.write_text("1.3.0 sha512-other\n")
    observed[1].clear()
    (checkout / "contracts" / "claude" / "1.3.0.json").unlink()
    command.main(["record", "claude", "1.3.0"])
    assert observed[1][0].integrity == "sha512-other"  # the tarball is then checked against that


def test_recording_says_where_the_contract_does_not_hold(checkout, npm_program, observed, tmp_path, capsys):
    observed[0]["deny.bypass"]["outcome"] = "ran"
    assert command.main(["record", "claude", "--out", str(tmp_path / "r.json")]) == 0
    assert "does not hold: deny.bypass:outcome is 'ran'" in capsys.readouterr().out
    assert not (checkout / "contracts" / "claude" / "integrity.lock").exists()


def test_records_of_two_harnesses_are_not_compared(checkout, record, tmp_path, capsys):
    for name in ("claude", "other"):
        (tmp_path / name).write_text(record(a_b={"x": 1}).model_copy(update={"harness": name}).text())
    assert command.main(["compare", str(tmp_path / "claude"), str(tmp_path / "other")]) == 1
    assert "is of claude" in capsys.readouterr().err


def test_a_contract_that_is_not_there_is_said(tmp_path):
    with pytest.raises(LabError, match=r"contract\.toml"):
        relied.load(tmp_path, "claude")

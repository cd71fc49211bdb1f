"""The committed records: complete, and in agreement with what the contract relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil_lab import pins
from anvil_lab.contract import integrity, record, relied, rows, verified

ROOT = Path(__file__).parents[4]
HARNESSES = [path.stem for path in sorted(rows.FOLDER.glob("*.yaml"))]


@pytest.fixture(params=HARNESSES)
def harness(request):
    return request.param


@pytest.fixture
def pinned(harness):
    version = pins.load(ROOT / pins.FOLDER).of(harness).version
    return record.read(record.place(ROOT, harness, version))


def test_every_probe_is_in_the_record_of_the_pinned_version(harness, pinned):
    probes = {probe.id: set(probe.observe) for probe in rows.load(harness)}
    assert {name: set(fact) for name, fact in pinned.facts.items()} == probes


def test_the_contract_holds_in_the_record_of_the_pinned_version(harness, pinned):
    wanted = relied.load(ROOT, harness)
    assert len({path.split(":")[0] for path in wanted}) >= 25
    assert relied.broken(pinned, wanted) == []


def test_the_record_is_of_the_pinned_bytes(harness, pinned):
    assert pinned.integrity == pins.load(ROOT / pins.FOLDER).of(harness).integrity
    assert integrity.read(integrity.place(ROOT, harness))[pinned.version] == pinned.integrity


def test_all_records_are_canonical_and_named_after_their_version(harness):
    known = integrity.read(integrity.place(ROOT, harness))
    paths = sorted((ROOT / record.FOLDER / harness).glob("*.json"))
    for path in paths:
        found = record.read(path)
        assert path.read_text(encoding="utf-8") == found.text()
        assert (found.harness, f"{found.version}.json") == (harness, path.name)
        assert known[found.version] == found.integrity


def test_nothing_of_the_machine_is_in_a_record(harness, pinned):
    words = ("/home/", "/tmp", "/root", "127.0.0.1", "toolu_", "/opt/")
    assert [word for word in words if word in pinned.text()] == []


def test_outcomes_are_of_both_kinds(pinned):
    """Where nothing ever ran, or all of it did, the probes would prove nothing."""
    outcomes = [fact["outcome"] for fact in pinned.facts.values() if "outcome" in fact]
    assert outcomes.count("ran") >= 20
    assert outcomes.count("blocked") >= 20
    assert set(outcomes) >= {"ran", "blocked", "ran elsewhere"}


def test_old_versions_are_recorded_and_the_range_is_what_the_records_say(harness, pinned):
    """What users are told of versions comes from the records: `nox -s docs`."""
    found = verified.records(ROOT, harness)
    assert len(found) >= 10
    assert found[-1].version == pinned.version
    assert verified.place(ROOT, harness).read_text(encoding="utf-8") == verified.text(ROOT, harness)
    assert verified.summary(found, relied.lasting(ROOT, harness))["broken"][found[0].version]

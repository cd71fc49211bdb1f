"""The version in which a fact changed is found, whatever is known of the others."""

from __future__ import annotations

import pytest

from anvil_lab.contract import npm
from anvil_lab.contract.bisect import Steps, bisect
from anvil_lab.contract.compare import compare
from anvil_lab.errors import LabError

VERSIONS = [f"1.{number}.0" for number in range(20)]
# Since when each probe is as it is in the newest version.
SINCE = {"deny.bypass": "1.7.0", "input.event": "1.8.0", "match.dash": "1.19.0", "exit2.yolo": "1.1.0"}


class World:
    """All versions; which of them were looked at, with which rows; some are committed, some cannot be had."""

    def __init__(self, record, committed=(), missing=()):
        self.make, self.committed, self.missing = record, committed, missing
        self.asked, self.said = [], []

    def at(self, version, rows=tuple(SINCE)):
        facts = {name: {"outcome": self.after(name, version)} for name in rows}
        return self.make(version, **{name.replace(".", "_"): fact for name, fact in facts.items()})

    def after(self, name, version):
        return "new" if VERSIONS.index(version) >= VERSIONS.index(SINCE[name]) else "old"

    def known(self, version):
        return self.at(version) if version in self.committed else None

    def some(self, version, rows):
        if version in self.missing:
            raise LabError("it is not there any more")
        self.asked.append((version, list(rows)))
        return self.at(version, rows)

    def found(self):
        old, new = self.at(VERSIONS[0]), self.at(VERSIONS[-1])
        steps = Steps(VERSIONS[1:-1], self.known, self.some, self.said.append)
        changes = bisect(old, compare(old, new, {}), steps).changes
        return {change.path.split(":")[0]: change.first for change in changes}


def test_each_change_has_the_version_that_it_came_with(record):
    world = World(record)
    assert world.found() == SINCE
    assert len({version for version, _ in world.asked}) == len(world.asked) <= 12


def test_only_the_rows_that_are_still_looked_for_are_recorded(record):
    world = World(record)
    world.found()
    assert sorted(world.asked[0][1]) == sorted(SINCE)
    assert all(len(rows) < 3 for _, rows in world.asked[2:])


def test_a_committed_record_is_not_recorded_again(record):
    world = World(record, committed=("1.6.0", "1.7.0", "1.8.0", "1.18.0"))
    assert world.found() == SINCE
    assert all(VERSIONS.index(version) < 6 for version, _ in world.asked)
    world = World(record, committed=VERSIONS)
    assert world.found() == SINCE
    assert world.asked == []


def test_a_committed_record_without_the_row_says_nothing_of_it(record):
    world = World(record, committed=("1.10.0",))
    world.known = lambda version: record(version, other_row={"outcome": "x"})
    assert world.found() == SINCE


@pytest.mark.parametrize("missing", [("1.7.0",), ("1.6.0", "1.9.0", "1.10.0"), VERSIONS[1:-1]])
def test_a_version_that_cannot_be_had_is_passed_over(record, missing):
    world = World(record, missing=missing)
    left = [version for version in VERSIONS if version not in missing]
    wanted = {
        name: next(v for v in left if VERSIONS.index(v) >= VERSIONS.index(first))
        for name, first in SINCE.items()
    }
    assert world.found() == wanted
    assert not {version for version, _ in world.asked} & set(missing)
    assert any("is passed over: it is not there" in line for line in world.said)


def test_a_row_that_could_not_be_acted_out_differs(record):
    old, new = record("1.0.0", a_b={"outcome": "ran"}), record("1.3.0", a_b={"outcome": "blocked"})
    seen = {"1.1.0": {"outcome": "ran"}, "1.2.0": {"error": "no such flag"}}
    steps = Steps(["1.1.0", "1.2.0"], lambda _: None, lambda version, _: record(version, a_b=seen[version]))
    (change,) = bisect(old, compare(old, new, {}), steps).changes
    assert change.first == "1.2.0"


def test_the_versions_are_those_of_npm_with_the_build(npm_program, pin):
    assert npm.versions(pin) == ["1.2.3", "1.2.10", "1.2.9", "1.3.0"]
    assert npm.versions(pin.model_copy(update={"build": "-linux-x64"})) == ["1.2.9"]
    (npm_program / "versions").write_text('"1.0.0"')
    with pytest.raises(LabError, match="names no versions"):
        npm.versions(pin)

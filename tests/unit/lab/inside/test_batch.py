from __future__ import annotations

import threading
import time

import pytest

from anvil_lab.inside import batch, stage
from anvil_lab.inside.records import Call, Result, Run


def run(name, **change):
    return Run("claude", name, [Call(tool="t")], **change)


@pytest.fixture
def performed(monkeypatch):
    seen = []

    def perform(one, *, home, project):
        if one.bundle == "bad":
            raise RuntimeError("no such bundle")
        assert list(home.iterdir()) == list(project.iterdir()) == []
        assert one.prepared is None, "the packages are copied once for all runs"
        (home / "left").touch()
        seen.append((home, project))
        return Result(one.bundle, 0, [], [], [], {}, [], [], [], {}, "")

    monkeypatch.setattr(stage, "perform", perform)
    return seen


def test_each_run_has_its_own_folders_and_the_results_their_order(tmp_path, performed):
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    runs = [run("one"), run("bad"), run("two")]
    found = batch.perform(runs, home=home, project=project, workers=2)
    assert [line.get("result", {}).get("version") for line in found] == ["one", None, "two"]
    assert found[1] == {"problem": "RuntimeError: no such bundle"}
    assert len({folder for pair in performed for folder in pair}) == 4
    assert list(home.iterdir()) == list(project.iterdir()) == []


def test_the_servers_packages_are_in_the_home_that_all_share(tmp_path, performed):
    for name in ("home", "project", "prepared"):
        (tmp_path / name).mkdir()
    (tmp_path / "prepared" / "thing").touch()
    runs = [run("one", prepared=str(tmp_path / "prepared"))] * 2
    batch.perform(runs, home=tmp_path / "home", project=tmp_path / "project", workers=1)
    assert len(performed) == 2
    assert (tmp_path / "home" / stage.CACHE / "thing").is_file()


def test_attended_runs_come_one_after_the_other_each_with_a_fresh_state(tmp_path, monkeypatch):
    home, project = tmp_path / "home", tmp_path / "project"
    (home / batch.STATE).mkdir(parents=True)
    project.mkdir()
    busy, found = threading.Lock(), []

    def perform(one, **_):
        assert busy.acquire(blocking=False), "two at once"
        found.append((home / batch.STATE).exists())
        (home / batch.STATE).mkdir(parents=True, exist_ok=True)
        time.sleep(0.05)
        busy.release()
        return Result(one.bundle, 0, [], [], [], {}, [], [], [], {}, "")

    monkeypatch.setattr(stage, "perform", perform)
    made = batch.perform([run("one", person=["yes"]), run("two")], home=home, project=project, workers=2)
    assert [line["result"]["version"] for line in made] == ["one", "two"]
    assert found == [False, False]

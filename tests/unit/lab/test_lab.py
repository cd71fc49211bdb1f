from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from docker.errors import NotFound

from anvil_lab import lab as labs
from anvil_lab.container import Finished, Mount
from anvil_lab.errors import LabError
from anvil_lab.inside.records import Call, Run, Surroundings
from anvil_lab.lab import Lab
from anvil_lab.scenario import Setting, Step, Trial

RESULT = (
    '{"version": "1", "exit_code": 0, "told": [], "requests": [], "offered": [], "servers": {},'
    ' "notices": [], "screens": [], "unexpected": [], "seconds": {}, "stderr": "", "error": null}'
)
TRIAL = Trial(
    setting=Setting(), steps=[Step.model_validate({"tool": "t", "expect": {"outcome": "ran"}})], answers=[]
)


class Volumes:
    def __init__(self):
        self.made = []

    def get(self, name):
        if name not in self.made:
            raise NotFound(name)
        return self

    def create(self, name, labels):
        assert labels == {"anvil.lab": "prepared"}
        self.made.append(name)
        return self

    def remove(self, **_):
        self.made.pop()


class Client:
    def __init__(self):
        self.volumes = Volumes()


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    monkeypatch.setenv("ANVIL_LAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "bundle"
    (folder / "mcp").mkdir(parents=True)
    (folder / "mcp" / "server.py").write_text("one")
    return folder


@pytest.fixture
def ran(monkeypatch):
    """What was run, and how it ended; the end can be changed by a test."""
    seen = {"commands": [], "end": Finished(0, f"noise\n{RESULT}\n", "", 1.5)}

    def run(client, image, command, **_):
        seen["commands"].append(command[3])
        return seen["end"]

    monkeypatch.setattr(labs.container, "run", run)
    return seen


def test_the_servers_environment_is_made_once_per_launcher_and_lock(bundle, ran):
    lab = Lab(Client(), "claude", "image", "key")
    first = lab.prepared(bundle)
    assert lab.prepared(bundle) == first
    (bundle / "mcp" / "server.py").write_text("two")
    assert lab.prepared(bundle) != first
    assert ran["commands"] == ["prepare", "prepare"]


def test_an_interrupted_or_failed_preparation_is_made_again(bundle, ran, tmp_path):
    lab = Lab(Client(), "claude", "image", "key")
    name = lab.prepared(bundle)
    (tmp_path / "cache" / f"{name}.done").unlink()
    lab.prepared(bundle)
    assert ran["commands"] == ["prepare", "prepare"]
    (tmp_path / "cache" / f"{name}.done").unlink()
    ran["end"] = Finished(1, "", "no pip", 1)
    with pytest.raises(LabError, match="no pip"):
        lab.prepared(bundle)
    assert lab.client.volumes.made == []


def test_the_last_line_is_the_result(bundle, ran):
    result, seconds = Lab(Client(), "claude", "image", "key").trial(TRIAL, bundle)
    assert (result.version, seconds) == ("1", 1.5)


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (Finished(1, "", "Traceback", 1), "ended with 1: Traceback"),
        (Finished(None, "", "", 1, True), "timed out"),
    ],
)
def test_a_run_without_a_result_is_an_error(end, says, bundle, ran):
    lab = Lab(Client(), "claude", "image", "key")
    lab.prepared(bundle)
    ran["end"] = end
    with pytest.raises(LabError, match=says):
        lab.trial(TRIAL, bundle)


def batches(ran, monkeypatch, good_from):
    """Each run's result is the number of times that it was made; some give nothing before a given time."""
    made = {}

    def run(client, image, command, **_):
        if command[3] == "prepare":
            return Finished(0, "", "", 1)
        ran["commands"].append((command[4], len(json.loads(command[5]))))
        lines = []
        for one in json.loads(command[5]):
            made[one["mode"]] = made.get(one["mode"], 0) + 1
            lines.append(json.dumps({"result": {**json.loads(RESULT), "version": str(made[one["mode"]])}}))
        return Finished(0, "\n".join(lines) + "\n", "", 1)

    monkeypatch.setattr(labs.container, "run", run)
    runs = [Run("claude", "/bundle", [Call(tool="t")], mode=str(number)) for number in range(23)]
    return runs, lambda number, result: int(result.version) < good_from.get(number, 1)


def test_a_batch_is_made_in_parts_and_what_tells_nothing_again(bundle, ran, monkeypatch):
    runs, once_more = batches(ran, monkeypatch, {0: 3, 22: 2, 5: 9})
    results = Lab(Client(), "claude", "image", "key").batch(runs, bundle, once_more)
    assert [result.version for result in results] == ["3", *"1111", "3", *("1" * 16), "2"]
    assert ran["commands"] == [("2", 20), ("2", 3), ("1", 3), ("1", 2)]


@pytest.mark.parametrize("stdout", ['{"problem": "no bundle"}\n', "", "noise\n"])
def test_a_batch_with_a_run_that_failed_is_an_error(bundle, ran, stdout):
    lab = Lab(Client(), "claude", "image", "key")
    lab.prepared(bundle)
    ran["end"] = Finished(0, stdout, "", 1)
    with pytest.raises((LabError, ValueError)):
        lab.batch([Run("claude", "/bundle", [Call(tool="t")])], bundle)


def with_files(files):
    return Run("claude", "/bundle", [Call("t")], surroundings=Surroundings(system=files))


def test_runs_with_files_of_the_machines_owner_are_among_their_like(bundle, monkeypatch):
    made = []

    def run(client, image, command, *, mounts, **_):
        if command[3] == "batch":
            own = {mount.target: Path(mount.source).read_text() for mount in mounts[2:]}
            made.append((len(json.loads(command[5])), own))
        lines = [json.dumps({"result": json.loads(RESULT)})] * (made[-1][0] if made else 0)
        return Finished(0, "\n".join(lines), "", 1.0)

    monkeypatch.setattr(labs.container, "run", run)
    monkeypatch.setattr(labs.container, "read", lambda *asked: f"copy of {asked[2]}".encode())
    plain, owned = with_files({}), with_files({"/etc/x": "text", "/bin/sh": "@/bin/bash"})
    results = Lab(Client(), "claude", "image", "key").batch([plain, owned, plain], bundle)
    assert len(results) == 3
    assert made == [(2, {}), (1, {"/etc/x": "text", "/bin/sh": "copy of /bin/bash"})]


def test_attended_runs_are_made_again_only_where_nothing_was_up(bundle, monkeypatch):
    lab = Lab(Client(), "claude", "image", "key")
    made, waited, slow = [], [], {"slow": 2}

    def batch(_lab, runs, _bundle, _workers):
        made.append([run.bundle for run in runs])
        waited.append(runs[0].patience)
        lines = []
        for run in runs:
            late = slow.get(run.bundle, 0) > 0
            slow[run.bundle] = slow.get(run.bundle, 0) - 1
            lines.append(replace(labs._RESULT.validate_json(RESULT), version=run.bundle, not_ready=late))
        return lines

    monkeypatch.setattr(Lab, "_batch", batch)
    names = ["wrong", "slow", "good"]
    results = lab.attended([Run("claude", name, [Call(tool="t")], person=["yes"]) for name in names], bundle)
    assert [result.version for result in results] == names
    assert not any(result.not_ready for result in results)
    assert sorted(waited) == [0, 0, 5, 20]
    assert sorted(made) == [["good"], ["slow"], ["slow"], ["wrong", "slow"]]


def test_another_versions_program_is_mounted_for_every_command(monkeypatch):
    seen = []
    monkeypatch.setattr(labs.container, "run", lambda *_, mounts, **__: seen.append(list(mounts)))
    over, other = Mount("/unpacked", "/opt/claude"), Mount("/b", "/bundle")
    Lab(Client(), "claude", "image", "key", program=(over,)).execute(["true"], [other])
    assert seen == [[over, other]]

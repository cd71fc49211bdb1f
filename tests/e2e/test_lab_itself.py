"""The laboratory on a bundle made by hand: what the other end-to-end tests take for granted."""

from __future__ import annotations

import pytest

from anvil_lab import judge, table
from anvil_lab.container import Limits
from anvil_lab.inside.records import Fault
from anvil_lab.scenario import Setting, Step, Trial

READ = {"tool": "things_list", "args": {}}
WRITE = {"tool": "things_create", "args": {"body": {"name": "x"}}}
COMPLETE = {"tool": "things_create", "args": {"body": {"name": "x"}, "confirm": True}}
SENT = {"outcome": "ran", "requests": [{"method": "POST", "path": "/v1/things", "body": {"name": "x"}}]}


def trial(*steps, **setting):
    made = [Step.model_validate({**call, "expect": expect}) for call, expect in steps]
    return Trial(setting=Setting(**setting), steps=made, answers=[])


TRIALS = {
    "installed": trial(
        (READ, {"outcome": "ran", "silent": True, "requests": [{"method": "GET", "path": "/v1/things"}]}),
        (WRITE, {"outcome": "refused", "by": "hook", "text": ["missing: confirm"]}),
        (COMPLETE, SENT),
        grant="allow",
    ),
    "plugin-dir": trial((COMPLETE, SENT), grant="bypass", install="plugin-dir"),
    "hooks-off": trial(
        (WRITE, {"outcome": "refused", "by": "server"}), (COMPLETE, SENT), grant="allow", hooks=False
    ),
    "python-gone": trial(
        (COMPLETE, {"outcome": "refused", "by": "hook", "text": ["python3: not found"]}),
        grant="allow",
        fault=Fault("python-gone"),
    ),
    "person": trial((COMPLETE, SENT), person=["yes"]),
}


@pytest.mark.parametrize("name", TRIALS)
def test_trial(name, harness, start_lab, bundles, rows):
    result, seconds = start_lab(harness).trial(TRIALS[name], bundles("tiny", None))
    wrong = judge.problems(TRIALS[name], result)
    rows.append(table.row(f"lab itself: {name}", result, seconds, good=not wrong))
    assert not wrong, "\n".join(wrong + result.screens)


def test_wrong_expectations_are_found(harness, start_lab, bundles):
    """A judge that never complains would make every scenario green."""
    wrong = trial((WRITE, SENT), (COMPLETE, {"outcome": "refused", "by": "hook"}), grant="allow")
    result, _ = start_lab(harness).trial(wrong, bundles("tiny", None))
    assert len(judge.problems(wrong, result)) == 5


def test_container_is_shut(harness, start_lab):
    lab = start_lab(harness)
    lines = [
        "id -u",
        "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '",
        "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -s '\\t' ' '",
        "for path in /x /etc/x /opt/x /usr/x; do touch $path 2>/dev/null && echo wrote $path; done; true",
        "touch ~/x /tmp/x /project/x && echo home",
    ]
    done = lab.execute(["sh", "-c", "; ".join(lines)])
    nothing = "0000000000000000"
    expected = ["1000", "lo", "NoNewPrivs: 1", f"CapEff: {nothing}", f"CapBnd: {nothing}", "home"]
    assert sorted(done.stdout.splitlines()) == sorted(expected), done


def test_container_is_limited(harness, start_lab):
    lab = start_lab(harness)
    hungry = lab.execute(["python3", "-c", "bytearray(400 << 20)"], limits=Limits(memory="128m"))
    assert hungry.exit_code == 137
    slow = lab.execute(["sleep", "60"], limits=Limits(seconds=2))
    assert slow.timed_out
    assert slow.seconds < 20


def test_version_is_the_pinned_one(harness, start_lab):
    lab = start_lab(harness)
    pinned = lab.client.images.get(lab.image).labels["anvil.lab.version"].removesuffix("-linux-x64")
    assert pinned in lab.execute([harness, "--version"]).stdout

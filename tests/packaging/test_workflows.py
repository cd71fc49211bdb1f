"""The forge's workflows: what runs new programs may write nothing, and what may write runs none of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROBED = sorted(path.stem for path in (ROOT / "packages/lab/src/anvil_lab/contract/probes").glob("*.yaml"))
# Sessions in which a harness's program, or something that was just downloaded for the first time, is run.
RUNS = re.compile(
    r"bootstrap.py -s (contract-watch|contract-record|e2e|tests|\"\$SESSION|update-pins -- dependencies)"
)


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def workflow(request):
    return yaml.safe_load(request.param.read_text(encoding="utf-8"))


def commands(job):
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_all_workflows_are_looked_at():
    assert [path.stem for path in FILES] == ["ci", "contract-watch", "e2e", "update-pins"]


def test_every_action_is_pinned_by_its_commit(workflow):
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_no_job_has_more_rights_than_it_needs(workflow):
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 30
        writes = {what for what, right in job["permissions"].items() if right == "write"}
        assert not (writes and RUNS.search(commands(job)))
        assert writes <= {"contents", "issues", "pull-requests"}
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_the_token_is_given_to_no_step_that_installs(workflow):
    for job in workflow["jobs"].values():
        assert "GH_TOKEN" not in job.get("env", {})
        for step in job["steps"]:
            assert not ("GH_TOKEN" in step.get("env", {}) and "bootstrap.py" in step["run"])


def test_no_expression_is_put_into_a_script(workflow):
    for job in workflow["jobs"].values():
        assert "${{" not in commands(job)


def test_the_watch_is_of_every_harness_that_has_probes():
    jobs = yaml.safe_load((ROOT / ".github/workflows/contract-watch.yml").read_text(encoding="utf-8"))["jobs"]
    assert [sorted(job["strategy"]["matrix"]["harness"]) for job in jobs.values()] == [PROBED, PROBED]
    assert RUNS.search(commands(jobs["watch"]))

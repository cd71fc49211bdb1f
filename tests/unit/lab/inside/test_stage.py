from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from anvil_lab.inside import stage
from anvil_lab.inside.claude import Claude
from anvil_lab.inside.place import Place, Report
from anvil_lab.inside.records import Call, Fault, Run, ServedTool, Surroundings

# Plays a harness: asks the model, carries each call out by one request to the API, tells the model.
CLIENT = """
import json, os, sys, urllib.request
def post(url, value):
    request = urllib.request.Request(url, json.dumps(value).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
model, api = os.environ["MODEL"], os.environ["ANVIL_BASE_URL"]
messages = [{"role": "user", "content": "go"}]
while True:
    content = post(model + "/v1/messages", {"tools": [{"name": "t"}], "messages": messages})["content"]
    messages.append({"role": "assistant", "content": content})
    if content[0]["type"] != "tool_use":
        break
    path = content[0]["input"].get("file")
    if path and not os.path.exists(path):
        result = {"is_error": True, "content": path + " is gone"}
    else:
        post(api + "/" + content[0]["name"], content[0]["input"])
        result = {"content": "done"}
    result |= {"type": "tool_result", "tool_use_id": content[0]["id"]}
    messages.append({"role": "user", "content": [result]})
print("said", file=sys.stderr)
"""


# Its arguments are those of every harness, used or not.
# ruff: noqa: ARG002
class Fake(Claude):
    """Claude Code's way of telling the model, without Claude Code."""

    client = CLIENT

    def settle(self, place, run):
        (place.home / "settled").write_text(run.grant)

    def install(self, place, run):
        self.bundle = place.bundle

    def installed_at(self, place):
        return [place.bundle]

    def replace_server(self, place, tools):
        (place.bundle / "replaced").write_text(tools[0].name)

    def tool_name(self, place, call):
        return call.tool

    def environment(self, place):
        return {**place.environment(), "MODEL": place.model}

    def command(self, place, run):
        return [sys.executable, "-c", self.client]

    def report(self, output):
        return Report("1", {}, [])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "driver", lambda _harness: Fake())
    bundle = tmp_path / "bundle"
    (bundle / "mcp").mkdir(parents=True)
    (bundle / "catalog.json").write_text("{}")
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return tmp_path


def perform(folders, **change):
    run = Run(**{"harness": "fake", "bundle": str(folders / "bundle"), "calls": [Call(tool="a")], **change})
    return stage.perform(run, home=folders / "home", project=folders / "project")


def test_each_request_is_counted_to_its_call(folders):
    result = perform(folders, calls=[Call(tool="a", args={"n": 1}), Call(tool="b")])
    assert [(seen.call, seen.path, seen.body) for seen in result.requests] == [
        (0, "/a", {"n": 1}),
        (1, "/b", {}),
    ]
    assert [(told.name, told.text, told.is_error) for told in result.told] == [
        ("a", "done", False),
        ("b", "done", False),
    ]
    assert (result.error, result.exit_code, result.offered) == (None, 0, ["t"])
    assert result.stderr == "said\n"


@pytest.mark.parametrize("when", ["first-turn", "before-start"])
def test_a_fault_breaks_a_copy_and_leaves_the_bundle_alone(folders, when):
    catalog = folders / "home" / "bundle" / "catalog.json"
    calls = [Call(tool="a", args={"file": str(catalog)})]
    result = perform(folders, calls=calls, fault=Fault("catalog-missing", when))
    assert result.told[0].text == f"{catalog} is gone"
    assert result.requests == []
    assert (folders / "bundle" / "catalog.json").exists()


def test_a_server_is_replaced_in_a_copy(folders):
    perform(folders, replaced=[ServedTool("invented")])
    assert (folders / "home" / "bundle" / "replaced").read_text() == "invented"
    assert not (folders / "bundle" / "replaced").exists()


def test_the_servers_environment_is_made_or_copied(folders):
    script = "import pathlib, sys\np = pathlib.Path.home() / 'made'\np.write_text(' '.join(sys.argv[1:]))\n"
    (folders / "bundle" / "mcp" / "server.py").write_text(script)
    perform(folders, wheelhouse="/wheels")
    assert (folders / "home" / "made").read_text() == "prepare --wheelhouse /wheels"
    (folders / "prepared").mkdir()
    (folders / "prepared" / "thing").touch()
    perform(folders, prepared=str(folders / "prepared"))
    assert (folders / "home" / stage.CACHE / "thing").is_file()
    (folders / "bundle" / "mcp" / "server.py").write_text("raise SystemExit('no pip')\n")
    with pytest.raises(RuntimeError, match="no pip"):
        perform(folders, wheelhouse="/wheels")


def test_the_surroundings_are_written_and_filled_in(folders):
    around = Surroundings(
        environment={"ONE": "{project}/bin"},
        flags=["--port", "{model_port}"],
        files={"{project}/bin/python3": "#!/bin/sh\n", "{project}/text": "x"},
    )
    place = Place(folders / "home", folders / "project", folders, folders, "http://h:7", "http://h:8", "/bin")
    run = stage.surround(place, Run("fake", "b", [], surroundings=around))
    assert run.surroundings.environment == {"ONE": f"{folders}/project/bin"}
    assert run.surroundings.flags == ["--port", "7"]
    assert stage.files_in(folders / "project") == {"bin/python3", "text"}
    assert os.access(folders / "project" / "bin" / "python3", os.X_OK)
    assert not os.access(folders / "project" / "text", os.X_OK)


def test_what_a_run_made_in_the_project_is_told(folders, monkeypatch):
    (folders / "project" / "old").touch()
    monkeypatch.setattr(Fake, "client", CLIENT + "open('new', 'w').close()\n")
    assert perform(folders).made == ["new"]


def test_a_harness_that_never_asks_or_never_ends_is_an_error(folders, monkeypatch):
    monkeypatch.setattr(Fake, "client", "import sys; sys.exit(3)")
    assert "never asked the model (it ended with 3)" in perform(folders).error
    monkeypatch.setattr(Fake, "client", "import time; time.sleep(60)")
    result = perform(folders, seconds=0.5)
    assert "did not end within 0.5 s" in result.error
    assert result.exit_code is None


def test_nothing_of_the_scratch_folder_stays(folders, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    perform(folders)
    assert {path.name for path in Path(folders).iterdir()} == {"bundle", "home", "project"}

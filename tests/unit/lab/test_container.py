from __future__ import annotations

import io
import os
import tarfile

import pytest
from requests.exceptions import ReadTimeout

from anvil_lab import container
from anvil_lab.container import Mount


class Container:
    def __init__(self, labels=None, ends=0):
        self.labels, self.ends = labels or {}, ends
        self.removed = self.killed = False

    def start(self):
        if self.ends is None:
            raise RuntimeError("cannot start")

    def wait(self, **_):
        if self.ends == "never":
            raise ReadTimeout
        return {"StatusCode": self.ends}

    def kill(self):
        self.killed = True

    def logs(self, stdout, **_):
        return b"out" if stdout else b"err"

    def remove(self, **_):
        self.removed = True


class Client:
    def __init__(self, *made):
        self.made, self.asked = list(made), None
        self.containers = self

    def create(self, image, command, **options):
        self.asked = {"image": image, "command": command, **options}
        return self.made[0]

    def list(self, **_):
        return self.made


def test_everything_is_shut():
    client = Client(Container())
    mounts = [Mount("/some/bundle", "/bundle"), Mount("volume", "/prepared", writable=True)]
    done = container.run(client, "image", ["true"], mounts=mounts)
    asked = client.asked
    assert (done.exit_code, done.stdout, done.stderr) == (0, "out", "err")
    assert (asked["network_mode"], asked["read_only"], asked["user"]) == ("none", True, "1000:1000")
    assert (asked["cap_drop"], asked["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert asked["mem_limit"] == asked["memswap_limit"]
    assert asked["pids_limit"] > 0
    assert all("exec" in options.split(",") for options in asked["tmpfs"].values())
    assert asked["volumes"]["/some/bundle"] == {"bind": "/bundle", "mode": "ro"}
    assert asked["volumes"]["volume"]["mode"] == "rw"


def test_a_container_is_removed_however_it_ends():
    never, broken = Container(ends="never"), Container(ends=None)
    assert container.run(Client(never), "image", ["sleep"]).timed_out
    assert (never.killed, never.removed) == (True, True)
    with pytest.raises(RuntimeError):
        container.run(Client(broken), "image", ["true"])
    assert broken.removed


def test_strays_are_those_whose_process_has_ended():
    ours = Container({container.OWNER: str(os.getpid())})
    strays = [Container({container.OWNER: "999999999"}), Container()]
    assert container.remove_strays(Client(ours, *strays)) == 2
    assert not ours.removed
    assert all(stray.removed for stray in strays)


def test_a_file_of_an_image_is_read_and_the_container_removed():
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        member = tarfile.TarInfo("bash")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    made = Container()
    made.get_archive = lambda path: ([whole.getvalue()], {"name": path})
    client = Client(made)
    client.create = lambda *_, **__: made
    assert container.read(client, "image", "/bin/bash") == b"abc"
    assert made.removed

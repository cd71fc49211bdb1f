"""Where a run takes place, and what a harness's module must offer. One module per harness fills it in."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anvil_lab.inside.records import Asked, Call, Fired, Refuser, Run, ServedTool
    from anvil_lab.inside.terminal import Terminal

FOREIGN = "foreign"
PROMPT = "Do what the script says."
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOOL_SERVER = Path(__file__).with_name("tool_server.py")


@dataclass(frozen=True)
class Place:
    """The folders and addresses of one run; `bundle` is the folder that is installed from."""

    home: Path
    project: Path
    bundle: Path
    scratch: Path
    model: str
    api: str
    path: str = SEARCH_PATH

    def environment(self) -> dict[str, str]:
        """What every program of the run gets; nothing is inherited."""
        return {
            "HOME": str(self.home),
            "PATH": self.path,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "ANVIL_BASE_URL": self.api,
        }


@dataclass(frozen=True)
class Report:
    """What a harness's own output told, beside what the model and the API saw."""

    version: str
    servers: dict[str, str]
    notices: list[str]
    fired: list[Fired] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """One call as the model's last request shows it."""

    answered: bool
    is_error: bool
    text: str
    extra: list[str]


class ScriptedModel(Protocol):
    """A model that makes the calls of a script; a server, started by entering it."""

    before: Callable[[int], None]
    turn: int
    unexpected: list[str]

    @property
    def url(self) -> str: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def script(self, calls: Sequence[tuple[str, Any]], *, together: bool = False) -> list[str]:
        """Take the calls (name, arguments) that the model will make, `together` in one turn; their ids."""

    def main_requests(self) -> list[dict[str, Any]]: ...

    def offered(self) -> list[str]: ...


class Harness(Protocol):
    """All that is particular to one harness. `shapes`: the forms in which its models call tools."""

    @property
    def shapes(self) -> tuple[str | None, ...]: ...

    def model(self, run: Run) -> ScriptedModel:
        """The model in the protocol that the harness speaks."""

    def settle(self, place: Place, run: Run) -> None:
        """Write the home's and the project's settings: mode and rule, hooks on or off, surroundings."""

    def replace_server(self, place: Place, tools: Sequence[ServedTool]) -> None:
        """Start another server under the bundle's server name."""

    def install(self, place: Place, run: Run) -> None:
        """Install the bundle as a user would."""

    def installed_at(self, place: Place) -> list[Path]:
        """Every folder that may be read as the installed bundle."""

    def tool_name(self, place: Place, call: Call) -> str: ...

    def arguments(self, call: Call) -> Any: ...

    def environment(self, place: Place) -> dict[str, str]: ...

    def command(self, place: Place, run: Run) -> list[str]:
        """The command line of an unattended run."""

    def converse(self, terminal: Terminal, run: Run, dialogs: list[str]) -> None:
        """Answer the dialogs of an attended run as the person would; their screens go into `dialogs`."""

    def report(self, output: str) -> Report: ...

    def seen(self, requests: Sequence[dict[str, Any]], use_id: str) -> Seen: ...

    def refused_by(self, seen: Seen) -> Refuser | None: ...

    def absent(self, seen: Seen) -> bool: ...


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def tool_server(api: str, tools: Sequence[ServedTool]) -> list[str]:
    """Command line of a server that offers these tools (see `tool_server.py`)."""
    listing = [asdict(tool) for tool in tools]
    return [sys.executable, "-I", str(TOOL_SERVER), api, json.dumps(listing)]

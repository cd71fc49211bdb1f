"""What goes into a run and what comes out of it, as JSON between host and container.

Nothing here is particular to a harness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Grant = Literal["none", "allow", "bypass"]
Way = Literal["marketplace", "plugin-dir"]
When = Literal["before-start", "first-turn"]
Refuser = Literal["hook", "server", "harness"]
Trust = Literal["entry", "bypass", "none", "stale", "off"]
Rule = Literal["none", "allow", "ask", "deny"]
Word = Literal["accept", "accept-for-session", "decline"]
FaultKind = Literal[
    "catalog-missing",
    "catalog-cut-short",
    "core-missing",
    "hook-missing",
    "hook-crashing",
    "hook-removed",
    "hooks-missing",
    "python-gone",
    "python-not-executable",
    "python",
    "command",
    "file",
    "catalog-spliced",
    "bytecode-planted",
]


@dataclass(frozen=True)
class Call:
    """One call that the model makes; exactly one of `tool`, `foreign` and `shell` is set.

    `tool` is a tool of the bundle's server, `foreign` one of a server that has nothing to do with it, `shell`
    a command line for the harness's own shell tool. `args` may be any JSON value; with `filler`, an argument
    of that many characters is added to it.
    """

    tool: str | None = None
    foreign: str | None = None
    shell: str | None = None
    args: Any = field(default_factory=dict)
    filler: int = 0


@dataclass(frozen=True)
class ServedTool:
    """A tool that the replaced server offers, and the request by which its run becomes visible.

    `annotations` stand over those that are usual (see `tool_server.py`).
    """

    name: str
    method: str = "POST"
    path: str = "/"
    schema: dict[str, Any] | None = None
    read_only: bool = False
    annotations: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """What is broken, and when.

    `text` is, for `python`: a shell script that stands in for python3, which it finds as `{python}`; for
    `command`: what stands in for the hook's command, which is `{hook}`, and may log to `{log}`; for
    `file`: the new text of the bundle's `file`, whose old one is `{original}`. `timeout` (seconds) replaces
    the hook's own. `without`: programs that are not on the path, where it is `python`.
    """

    kind: FaultKind
    when: When = "first-turn"
    text: str = ""
    file: str = ""
    timeout: float | None = None
    without: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Surroundings:
    """What else is there when the harness starts.

    In all texts, `{project}` is the project's folder, `{home}` the user's, `{bundle}` the one that is
    installed from, `{path}` the search path, `{model_port}` the scripted model's port, and `{programs}` a
    folder with every program of the machine but python3. `system` are files that only the machine's owner
    could write, with their texts, or for `@PATH` a copy of that file.
    """

    environment: dict[str, str] = field(default_factory=dict)
    project_environment: dict[str, str] = field(default_factory=dict)
    project_settings: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    system: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the local API answers to one method and path."""

    method: str
    path: str
    body: Any
    status: int = 200


@dataclass(frozen=True)
class Run:
    """One start of a harness with a bundle installed.

    `person` is what the person at the terminal does at each dialog, in the words of `answers.py`; nobody
    sits there without it. `client`: another program shows the session, and answers each of the harness's
    questions with this word. `access` is how far the harness's own sandbox lets commands go, in its word.
    `mode` is a permission mode in the harness's own word; without one, and without `rule`, `grant` says both.
    `shape` is the form in which the model calls tools, where the harness has several; `together`: it makes
    all the calls in one turn. `trust` is how the user trusts the plugin's hooks, where the harness wants
    that: by its settings, by a flag, or not; or did trust others (`stale`), or has switched them off.
    `servers` are the user's own by name, beside the bundle's. `subagent`: the calls are made by an agent that
    the model starts for them. `patience`: seconds that the person lets pass before the prompt.
    """

    harness: str
    bundle: str
    calls: list[Call]
    grant: Grant = "none"
    client: Word | None = None
    access: str | None = None
    mode: str | None = None
    rule: Rule | None = None
    install: Way = "marketplace"
    hooks: bool = True
    replaced: list[ServedTool] | None = None
    fault: Fault | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    answers: list[Answer] = field(default_factory=list)
    person: list[str] | None = None
    shape: str | None = None
    trust: Trust = "entry"
    servers: dict[str, list[ServedTool]] = field(default_factory=dict)
    subagent: bool = False
    together: bool = False
    patience: float = 0
    prepared: str | None = None
    wheelhouse: str | None = None
    seconds: float = 60


@dataclass(frozen=True)
class Request:
    """A request that reached the local API, and during which call (counted from 0) it did."""

    call: int
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Told:
    """What the model was told about one call; `extra` is what a hook said beside the answer.

    `absent`: the harness had no such tool, as when its server did not start.
    """

    name: str
    answered: bool
    is_error: bool
    text: str
    extra: list[str]
    refused_by: Refuser | None
    absent: bool = False


@dataclass(frozen=True)
class Fired:
    """One run of a hook before a call, as the harness told of it: what it printed, and how it ended."""

    tool: str
    outcome: str
    exit_code: int | None
    output: str


@dataclass(frozen=True)
class Asked:
    """A question of the harness before a call, as the program that shows the session got it."""

    tool: str
    arguments: Any


@dataclass(frozen=True)
class Result:
    """`not_ready`: the harness, or the bundle's server in it, did not come up in time: it tells nothing."""

    version: str
    exit_code: int | None
    told: list[Told]
    requests: list[Request]
    offered: list[str]
    servers: dict[str, str]
    notices: list[str]
    screens: list[str]
    unexpected: list[str]
    seconds: dict[str, float]
    stderr: str
    error: str | None = None
    fired: list[Fired] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    not_ready: bool = False


def read_run(value: dict[str, Any]) -> Run:
    """The run that `dataclasses.asdict` gave to the host's JSON."""
    replaced, fault = value["replaced"], value["fault"]
    return Run(
        **{
            **value,
            "calls": [Call(**call) for call in value["calls"]],
            "replaced": None if replaced is None else [ServedTool(**tool) for tool in replaced],
            "fault": None if fault is None else Fault(**fault),
            "surroundings": Surroundings(**value.get("surroundings", {})),
            "servers": {
                name: [ServedTool(**tool) for tool in tools]
                for name, tools in value.get("servers", {}).items()
            },
            "answers": [Answer(**answer) for answer in value["answers"]],
        }
    )

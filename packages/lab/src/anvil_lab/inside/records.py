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
FaultKind = Literal[
    "catalog-missing",
    "catalog-cut-short",
    "core-missing",
    "hook-missing",
    "hook-crashing",
    "hook-removed",
    "python-gone",
]


@dataclass(frozen=True)
class Call:
    """One call that the model makes; exactly one of `tool`, `foreign` and `shell` is set.

    `tool` is a tool of the bundle's server, `foreign` one of a server that has nothing to do with it, `shell`
    a command line for the harness's own shell tool.
    """

    tool: str | None = None
    foreign: str | None = None
    shell: str | None = None
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServedTool:
    """A tool that the replaced server offers, and the request by which its run becomes visible."""

    name: str
    method: str = "POST"
    path: str = "/"
    schema: dict[str, Any] | None = None


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    when: When = "first-turn"


@dataclass(frozen=True)
class Answer:
    """What the local API answers to one method and path."""

    method: str
    path: str
    body: Any
    status: int = 200


@dataclass(frozen=True)
class Run:
    """One start of a harness with a bundle installed."""

    harness: str
    bundle: str
    calls: list[Call]
    grant: Grant = "none"
    install: Way = "marketplace"
    hooks: bool = True
    replaced: list[ServedTool] | None = None
    fault: Fault | None = None
    answers: list[Answer] = field(default_factory=list)
    person: list[Literal["yes", "no"]] | None = None
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
    """What the model was told about one call; `extra` is what a hook said beside the answer."""

    name: str
    answered: bool
    is_error: bool
    text: str
    extra: list[str]
    refused_by: Refuser | None


@dataclass(frozen=True)
class Result:
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


def read_run(value: dict[str, Any]) -> Run:
    """The run that `dataclasses.asdict` gave to the host's JSON."""
    replaced, fault = value["replaced"], value["fault"]
    return Run(
        **{
            **value,
            "calls": [Call(**call) for call in value["calls"]],
            "replaced": None if replaced is None else [ServedTool(**tool) for tool in replaced],
            "fault": None if fault is None else Fault(**fault),
            "answers": [Answer(**answer) for answer in value["answers"]],
        }
    )

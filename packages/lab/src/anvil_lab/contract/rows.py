"""The probes of a harness: rows of `probes/<harness>.yaml`; each has an id, an act, and what is observed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anvil_lab.errors import LabError
from anvil_lab.inside.probe_evidence import FACETS

FOLDER = Path(__file__).with_name("probes")
SCHEMA: dict[str, Any] = {"type": "object"}
WRITE = {"name": "write", "description": "Writes", "inputSchema": SCHEMA}
# Keys that another harness does not act out; said in one of its rows they would be passed over unseen.
OF_ONE = {"claude": {"rule", "install"}, "codex": {"approval", "trust", "shape"}}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Act(_Frozen):
    """What the hook of a probe does once it has read its input."""

    prints: str | dict[str, Any] | list[Any] = ""
    stderr: str = ""
    exit: int = 0
    signal: int | None = None
    sleeps: float = 0


class Hook(_Frozen):
    """`handler` is merged into the hook's entry: `onFailure`, `timeout`, another `command`.

    The usual `matcher` is that of our own hook for the plugin's server.
    """

    name: Annotated[str, Field(pattern=r"^[a-z]+$")] = "guard"
    event: str = "PreToolUse"
    matcher: str | None = "{own}"
    does: Act = Act()
    handler: dict[str, Any] = {}


class Serves(_Frozen):
    """What the plugin's server offers, answers every call with, and asks a person before it answers.

    `late` names servers that are slow to start; `discover` makes the server one of protocol 2026-07-28.
    """

    tools: list[dict[str, Any]] = [WRITE]
    result: dict[str, Any] | None = None
    elicit: dict[str, Any] | None = None
    late: list[str] = []
    discover: bool = False


class Call(_Frozen):
    """The model's one call: a tool of the plugin's server, or a whole name. `filler` letters make it long."""

    tool: str | None = None
    name: str | None = None
    args: dict[str, Any] = {}
    filler: int = 0

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.tool is None) == (self.name is None):
            raise ValueError("a call has either a tool or a name")
        return self


class Probe(_Frozen):
    """One row. Placeholders such as `{prefix}`, `{tool}` and `{plugin}` are filled in by the actor.

    `mode` is a word of the harness. `approval` is the approval mode that the user set for the plugin's
    server; `trust` says whether the user trusts the plugin's hooks (`bypass`: a flag does), or has trusted
    them before they changed; `shape` is the form in which the model calls tools.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
    says: str
    observe: Annotated[list[str], Field(min_length=1)]
    plugin: str = "anvil-probe"
    server: str = "api"
    manifest: dict[str, Any] = {}
    files: dict[str, Any] = {}
    hooks: list[Hook] = []
    serves: Serves = Serves()
    install: Literal["plugin-dir", "marketplace"] = "plugin-dir"
    mode: str = "default"
    rule: Literal["none", "allow", "ask", "deny"] = "none"
    approval: Literal["none", "auto", "writes", "prompt", "approve"] = "none"
    trust: Literal["bypass", "entry", "stale", "changed", "none"] = "bypass"
    shape: Literal["plain", "code"] = "plain"
    user_settings: dict[str, Any] = {}
    project_settings: dict[str, Any] = {}
    user_servers: list[str] = []
    flags: list[str] = []
    call: Call = Call(tool="write")
    command: list[str] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        unknown = set(self.observe) - set(FACETS)
        if unknown:
            raise ValueError(f"no such facet: {', '.join(sorted(unknown))} (there are {', '.join(FACETS)})")
        if (self.command is not None) != (self.observe == ["command"]):
            raise ValueError("a row with a command observes the command, and no other row does")
        return self


def load(harness: str, folder: Path = FOLDER) -> list[Probe]:
    """The rows of a harness, sorted by id."""
    path = folder / f"{harness}.yaml"
    if not path.is_file():
        raise LabError(f"no probes for {harness}: {path} is not there")
    found: dict[str, Probe] = {}
    for entry in _entries(path):
        try:
            probe = Probe.model_validate(entry)
        except ValidationError as error:
            raise LabError(f"{path.name}, {entry.get('id')}: {error}") from error
        others = set().union(*OF_ONE.values()) - OF_ONE.get(harness, set())
        if strange := probe.model_fields_set & others:
            raise LabError(f"{path.name}, {probe.id}: {harness} has no {', '.join(sorted(strange))}")
        if probe.id in found:
            raise LabError(f"{path.name}: the id {probe.id} is taken")
        found[probe.id] = probe
    return [found[key] for key in sorted(found)]


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        entries: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["probes"]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise LabError(f"{path.name}: {error}") from error
    return entries


def as_json(probes: list[Probe]) -> str:
    """The rows as the container reads them: an act's and a server's unset members are left out."""
    dumped = [probe.model_dump() for probe in probes]
    for row in dumped:
        for hook in row["hooks"]:
            hook["does"] = {key: value for key, value in hook["does"].items() if value is not None}
        row["call"] = {key: value for key, value in row["call"].items() if value is not None}
        if filler := row["call"].pop("filler"):
            row["call"]["args"]["filler"] = "x" * filler
    return json.dumps(dumped)

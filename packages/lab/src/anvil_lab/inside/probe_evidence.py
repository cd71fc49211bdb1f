"""What one probe left behind, and the facets by which a record tells it.

A facet is one function from the evidence to JSON without times, ids and paths of this run. A new one is a new
function in `FACETS`; a row of the probes names those that it is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = dict[str, Any]
# Words of a row that show what reached the model.
_MARKER = re.compile(r"THE-[A-Z]+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PORT = re.compile(r"127\.0\.0\.1:\d+")
_LONGEST = 400
_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@dataclass
class Evidence:
    """`told` and `after` are of the first call: its result, and all text that came with it or behind it."""

    hooks: list[Json] = field(default_factory=list)
    server: list[Json] = field(default_factory=list)
    answered: bool = False
    is_error: bool = False
    told: str = ""
    after: list[str] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    loaded: Json = field(default_factory=dict)
    command: Json | None = None
    notices: list[str] = field(default_factory=list)
    own_server: str = ""
    # The member of a call's _meta that carries the id which the hook was given.
    call_id_key: str = "claudecode/toolUseId"
    version: str | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None

    def calls(self) -> list[Json]:
        """The calls that a server got: its name, and the parameters."""
        return [
            {"server": entry["name"], **(entry["value"].get("params") or {})}
            for entry in self.server
            if entry["kind"] == "got" and entry["value"].get("method") == "tools/call"
        ]

    def plain(self, text: str) -> str:
        """The text without what differs from run to run."""
        for path, name in sorted(self.paths.items(), key=lambda item: -len(item[0])):
            text = text.replace(path, name)
        return _PORT.sub("<address>", _UUID.sub("<uuid>", text))[:_LONGEST]


def shape(value: Any, depth: int = 2) -> Any:
    """The kinds of a JSON value; an object's members as deep as is said."""
    if isinstance(value, dict) and depth:
        return {key: shape(member, depth - 1) for key, member in value.items()}
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def outcome(evidence: Evidence) -> str:
    servers = {call["server"] for call in evidence.calls()}
    if servers:
        return "ran" if servers == {evidence.own_server} else "ran elsewhere"
    if not evidence.answered:
        return "unanswered"
    return "blocked" if evidence.is_error else "answered without a call"


def stdin(evidence: Evidence) -> Any:
    if not evidence.hooks:
        return None
    given = evidence.hooks[0]["stdin"]
    return {key: shape(value, 0 if key == "tool_input" else 1) for key, value in given.items()}


def values(evidence: Evidence) -> Any:
    """The members of the hook's input that a contract reads, as they are."""
    given = evidence.hooks[0]["stdin"] if evidence.hooks else {}
    read = ("hook_event_name", "mcp_server", "permission_mode", "tool_input", "tool_name")
    return {key: given[key] for key in read if key in given}


def env(evidence: Evidence, environment: Mapping[str, str]) -> Json:
    """Names that the harness added, each with its value where that is one of the run's folders."""
    added = {name for name in environment if name not in evidence.given and name not in _SHELL}
    known = set(evidence.paths.values())
    plain = {name: evidence.plain(environment[name]) for name in added}
    return {name: value if value in known else "set" for name, value in plain.items()}


def hook_env(evidence: Evidence) -> Any:
    return env(evidence, evidence.hooks[0]["env"]) if evidence.hooks else None


def server_env(evidence: Evidence) -> Any:
    found = [entry["value"] for entry in evidence.server if entry["kind"] == "env"]
    return env(evidence, found[0]) if found else None


def inherited(evidence: Evidence) -> Any:
    """Which names of the environment that the program was started with the server has too."""
    found = [entry["value"] for entry in evidence.server if entry["kind"] == "env"]
    return {name: name in found[0] for name in sorted(evidence.given)} if found else None


def handshake(evidence: Evidence) -> Json:
    """What a server is asked until its tools are listed: the methods, versions and capabilities."""
    got = [entry["value"] for entry in evidence.server if entry["kind"] == "got"]
    methods = [message["method"] for message in got if "method" in message]
    until = methods.index("tools/list") + 1 if "tools/list" in methods else len(methods)
    opening: Json = next((m["params"] for m in got if m.get("method") == "initialize"), {})
    return {
        "methods": methods[:until],
        "protocol": opening.get("protocolVersion"),
        "capabilities": opening.get("capabilities"),
    }


def elicited(evidence: Evidence) -> Any:
    """What the server got for its question."""
    got = [entry["value"] for entry in evidence.server if entry["kind"] == "got"]
    found = [m.get("result", m.get("error")) for m in got if "method" not in m and "id" in m]
    return found[0] if found else None


def call_meta(evidence: Evidence) -> Any:
    calls = evidence.calls()
    return sorted(calls[0].get("_meta") or {}) if calls else None


def joined(evidence: Evidence) -> bool:
    """The hook's id of the call is in what the server gets."""
    metas = [call.get("_meta") or {} for call in evidence.calls()]
    ids = {hook["stdin"].get("tool_use_id") for hook in evidence.hooks}
    return bool(metas and ids) and {meta.get(evidence.call_id_key) for meta in metas} == ids


FACETS: dict[str, Callable[[Evidence], Any]] = {
    "outcome": outcome,
    "told": lambda evidence: evidence.plain(evidence.told),
    "reaches": lambda evidence: sorted(set(_MARKER.findall("\n".join(evidence.after)))),
    "fired": lambda evidence: sorted(hook["name"] for hook in evidence.hooks),
    "stdin": stdin,
    "values": values,
    "env": hook_env,
    "server_env": server_env,
    "inherited": inherited,
    "offered": lambda evidence: evidence.offered,
    "loaded": lambda evidence: evidence.loaded,
    "notices": lambda evidence: [evidence.plain(notice) for notice in evidence.notices],
    "arguments": lambda evidence: [call.get("arguments") for call in evidence.calls()],
    "handshake": handshake,
    "elicited": elicited,
    "meta": call_meta,
    "joined": joined,
    "command": lambda evidence: evidence.command,
}

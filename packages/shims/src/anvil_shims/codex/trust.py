"""The mark that Codex puts on a hook that a person trusts, computed as Codex does.

A test compares it with the real program's, for hooks of the user, of a repository and of a plugin.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NO_MATCHER = frozenset({"UserPromptSubmit", "Stop", "Interrupt"})
WITH_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "SubagentStart"})
SHORT = frozenset({"SessionEnd", "Interrupt"})
CONTEXT_LIMIT = 2500


@dataclass(frozen=True)
class Definition:
    """One hook command as its file defines it. ``key`` is its name in the record of trust."""

    key: str
    digest: str
    event: str
    matcher: str | None
    command: str
    timeout: int


def definitions(source: str, hooks: Mapping[str, Any]) -> Iterator[Definition]:
    """``source``: the file's real path, or for a plugin ``PLUGIN@MARKETPLACE:PATH/IN/THE/PLUGIN``."""
    for event, groups in hooks["hooks"].items():
        for group_index, group in enumerate(groups):
            matcher = None if event in NO_MATCHER else group.get("matcher")
            for index, handler in enumerate(group["hooks"]):
                if handler.get("type") == "command":
                    yield Definition(
                        key=f"{source}:{snake(event)}:{group_index}:{index}",
                        digest=digest(event, matcher, handler),
                        event=event,
                        matcher=matcher,
                        command=handler["command"],
                        timeout=seconds(event, handler.get("timeout")),
                    )


def digest(event: str, matcher: str | None, handler: Mapping[str, Any]) -> str:
    """SHA-256 over the definition with its defaults filled in, as sorted compact JSON."""
    normal: dict[str, Any] = {
        "type": "command",
        "command": handler["command"],
        "timeout": seconds(event, handler.get("timeout")),
        "async": bool(handler.get("async", False)),
    }
    if handler.get("statusMessage") is not None:
        normal["statusMessage"] = handler["statusMessage"]
    limit = handler.get("additionalContextLimit")
    if limit not in (None, CONTEXT_LIMIT) and event in WITH_CONTEXT:
        normal["additionalContextLimit"] = limit
    whole: dict[str, Any] = {"event_name": snake(event), "hooks": [normal]}
    if matcher is not None:
        whole["matcher"] = matcher
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def seconds(event: str, timeout: int | None) -> int:
    if event in SHORT:
        return min(max(1 if timeout is None else timeout, 1), 3)
    return max(600 if timeout is None else timeout, 1)


def snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()

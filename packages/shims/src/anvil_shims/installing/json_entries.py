"""Members of objects in a JSON text put in, changed and taken out; every other byte stays.

A path is the key of an object at the root and a key in it. What the object was before (absent, or empty in
some spelling) is the caller's to remember: ``with_entry`` takes it back when the object becomes empty.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anvil_shims.installing import text_files
from anvil_shims.installing.actions import ActionError

if TYPE_CHECKING:
    from collections.abc import Sequence

DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Member:
    key: str
    start: int
    value: int
    end: int


def parse(text: str, file: str) -> dict[str, Any]:
    try:
        data = json.loads(text.removeprefix(text_files.MARK))
    except (ValueError, RecursionError) as error:
        message = f"is not valid JSON ({error}), and was left as it is; mend it and try again"
        raise ActionError("config_unreadable", message, file, getattr(error, "lineno", None)) from None
    if not isinstance(data, dict):
        message = "does not hold a JSON object, and was left as it is; mend it and try again"
        raise ActionError("config_unreadable", message, file, 1)
    return data


def container(text: str, key: str) -> str | None:
    """The text of an object at the root that is empty; None when it is absent, "full" otherwise."""
    root = text.index("{")
    for member in _members(text, root):
        if member.key == key:
            value = text[member.value : member.end]
            return value if not json.loads(value) else "full"
    return None


def with_entry(text: str, path: Sequence[str], value: Any, emptied: str | None = "{}") -> str:
    """The text with ``value`` at ``path``; None: without it.

    ``emptied``: how the object is written when it becomes empty; None takes it out as well.
    """
    outer, inner = path
    root = text.index("{")
    holder = next((member for member in _members(text, root) if member.key == outer), None)
    if holder is None:
        return text if value is None else _put(text, root, outer, {inner: value})
    if text[holder.value] != "{":
        raise ActionError("config_unreadable", f"{outer} does not hold an object", "")
    if value is not None:
        return _put(text, holder.value, inner, value)
    shorter = _taken(text, holder.value, inner)
    (after,) = [member for member in _members(shorter, root) if member.key == outer]
    if shorter == text or _members(shorter, after.value):
        return shorter
    if emptied is None:
        return _taken(shorter, root, outer)
    return shorter[: after.value] + emptied + shorter[after.end :]


def _members(text: str, start: int) -> list[Member]:
    """The members of the object that begins at ``start``, in a text that is known to be valid JSON."""
    found = []
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, after = DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        _, end = DECODER.raw_decode(text, value)
        found.append(Member(key, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at


def _put(text: str, start: int, key: str, value: Any) -> str:
    members = _members(text, start)
    for member in members:
        if member.key == key:
            return text[: member.value] + _dump(text, value, member.start) + text[member.end :]
    if members:
        last = members[-1]
        between = _between(text, start, members)
        new = json.dumps(key, ensure_ascii=False) + ": " + _dump(text, value, last.start)
        return text[: last.end] + "," + between + new + text[last.end :]
    line = text_files.newline(text) if "\n" in text else "\n"
    margin = _margin(text, start)
    inside = line + margin + _step(text)
    new = json.dumps(key, ensure_ascii=False) + ": " + _dump(text, value, start, margin + _step(text))
    end = text.index("}", start)
    return text[: start + 1] + inside + new + line + margin + text[end:]


def _between(text: str, start: int, members: list[Member]) -> str:
    """What stands before a member: after the comma of the one before it, or after the brace."""
    before = members[-2].end if len(members) > 1 else start + 1
    gap = text[before : members[-1].start]
    return gap[gap.index(",") + 1 :] if len(members) > 1 else gap


def _taken(text: str, start: int, key: str) -> str:
    members = _members(text, start)
    for index, member in enumerate(members):
        if member.key != key:
            continue
        if index + 1 < len(members):
            return text[: member.start] + text[members[index + 1].start :]
        begin = members[index - 1].end if index else start + 1
        return text[:begin] + text[member.end :]
    return text


def _dump(text: str, value: Any, at: int, margin: str | None = None) -> str:
    """The value as JSON, its lines indented as the line at ``at`` is."""
    if "\n" not in text:
        return json.dumps(value, ensure_ascii=False)
    margin = _margin(text, at) if margin is None else margin
    dumped = json.dumps(value, ensure_ascii=False, indent=_step(text))
    return dumped.replace("\n", text_files.newline(text) + margin)


def _margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    first = re.search(r"\n([ \t]+)\S", text)
    return first.group(1) if first else "  "

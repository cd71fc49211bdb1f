"""Real documents made wrong, the same way each time: cut off, damaged, a wrong value at each kind of node."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import TYPE_CHECKING, Any

from anvil_generator.sources import text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRONG: list[Any] = [
    None, True, 7, -1.5, "", "x", [], ["x"], {}, {"x": 1}, [[]], {"$ref": "#/gone"}, {"$ref": 7},
    {"$ref": "#"}, {"$ref": "other.yaml"}, {"type": 3}, 10**40, "\ud83d\ude00" * 40,
]  # fmt: skip
CUTS, DAMAGES = 30, 30

# Below these, the next part of a pointer is a name that the document chose.
_CHOSEN = re.compile(
    r"(paths|properties|schemas|responses|content|examples|parameters|headers|requestBodies|securitySchemes|mapping"
    r"|callbacks|links|scopes|variables|encoding|security)$"
)


def malformed(path: Path) -> Iterator[tuple[str, bytes]]:
    """What was done, and the document with it done. Those of data are JSON, the others as the file is."""
    whole = path.read_bytes()
    chance = random.Random(path.name)
    for number in range(CUTS):
        at = chance.randrange(len(whole))
        yield f"cut off at byte {at} ({number})", whole[:at]
    for _ in range(DAMAGES):
        yield _damaged(whole, chance)
    root = text.parse(whole.decode("utf-8"), json_only=False).root
    for kind, places in sorted(kinds(root).items()):
        place = chance.choice(places)
        wrong = chance.choice([value for value in WRONG if type(value) is not type(_at(root, place))])
        yield f"{wrong!r} at {kind}", json.dumps(_changed(root, place, wrong), indent=1).encode()
        yield f"nothing at {kind}", json.dumps(_without(root, place), indent=1).encode()


def _damaged(whole: bytes, chance: random.Random) -> tuple[str, bytes]:
    at, byte = chance.randrange(len(whole)), chance.choice(b'\x00\xff"{}[]:,-\t\n\\&*!%@`#')
    what = chance.choice(["put in", "instead", "line gone"])
    if what == "line gone":
        lines = whole.split(b"\n")
        gone = chance.randrange(len(lines))
        return f"line {gone + 1} gone", b"\n".join(lines[:gone] + lines[gone + 1 :])
    rest = whole[at:] if what == "put in" else whole[at + 1 :]
    return f"{bytes([byte])!r} {what} at byte {at}", whole[:at] + bytes([byte]) + rest


def kinds(root: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every place of a document, by its kind: the pointer without the names that the document chose."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    waiting: list[tuple[Any, tuple[Any, ...], str]] = [(root, (), "")]
    while waiting:
        value, place, kind = waiting.pop()
        if place:
            found.setdefault(kind, []).append(place)
        chosen = isinstance(value, list) or _CHOSEN.search(kind)
        items = (
            enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        )
        waiting += [(item, (*place, key), f"{kind}/{'*' if chosen else key}") for key, item in items]
    return found


def _at(root: Any, place: tuple[Any, ...]) -> Any:
    for part in place:
        root = root[part]
    return root


def _changed(root: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(root)
    _at(made, place[:-1])[place[-1]] = value
    return made


def _without(root: Any, place: tuple[Any, ...]) -> Any:
    made = copy.deepcopy(root)
    del _at(made, place[:-1])[place[-1]]
    return made

"""Names of a tool's arguments: the wire's own names wherever a model API takes them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from anvil_core import names

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 64
BODY = "body"
_PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}")

Wire = tuple[str, str]  # location, name


def assign(wires: Iterable[Wire], *, has_body: bool) -> dict[Wire, str]:
    """An argument name for each parameter, whatever order they come in.

    A name keeps its form if it is plain; one that several want gets its location behind it, and a
    number behind that if it is still not alone. The body, if there is one, is always ``body``.
    """
    ordered = sorted(set(wires))
    wanted = {wire: _plain(wire[1]) for wire in ordered}
    count = Counter([*wanted.values(), *([BODY] if has_body else [])])
    taken = {name for name, times in count.items() if times == 1}
    final: dict[Wire, str] = {}
    for wire in ordered:
        name = wanted[wire]
        if count[name] > 1:
            name = _free(f"{name[: LONGEST - 11]}_{wire[0]}", taken)
            taken.add(name)
        final[wire] = name
    return final


def _plain(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return names.snake(name)[:LONGEST].rstrip("_") or "parameter"


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free

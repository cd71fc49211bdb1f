"""Ids of operations: ``service.resource.action``, each one's own."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_generator.sources import FoundOperation


def assign(service_id: str, operations: Sequence[tuple[FoundOperation, str]]) -> list[str]:
    """An id for each operation and its tool's name, in their order; names must be unique.

    The resource is not said twice (``users_list`` of ``users`` is ``users.list``) but where another
    operation would have the same id: then each of them keeps its whole name.
    """
    parts = [(_resource(found), name) for found, name in operations]
    whole: set[int] = set()
    while True:
        ids = [
            f"{service_id}.{resource}.{name if index in whole else name.removeprefix(f'{resource}_')}"
            for index, (resource, name) in enumerate(parts)
        ]
        times = Counter(ids)
        same = {index for index, one in enumerate(ids) if times[one] > 1} - whole
        if not same:
            return ids
        whole |= same


def _resource(found: FoundOperation) -> str:
    """The first tag, or the first fixed part of the path, in plain letters."""
    parts = [part for part in found.source.path.split("/") if part and "{" not in part]
    fixed = [part for part in parts if not re.fullmatch(r"api|v\d+(\.\d+)*", part)] or parts
    resource = (found.tags[0] if found.tags else "") or (fixed[0] if fixed else "root")
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in resource.lower())
    return "_".join(plain.split()) or "root"

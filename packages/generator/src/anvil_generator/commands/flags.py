"""The flags that ``compile`` and ``inspect`` share: which operations are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anvil_core.problems import Position
from anvil_generator.manifest import ManifestChoice
from anvil_generator.selection import SINGULAR, Selection

Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only operations with this tag; may be repeated.")
]
Paths = Annotated[
    list[str] | None,
    typer.Option("--path", help="Only this path, or pattern: * is any text in one part, /** all below."),
]
Operations = Annotated[
    list[str] | None, typer.Option("--operation", help="Only this operationId or METHOD /path.")
]
RefsWithin = Annotated[
    Path | None,
    typer.Option("--refs-within", help="The folder references may lead to; the document's by default."),
]


def selection(
    tags: list[str] | None, paths: list[str] | None, operations: list[str] | None
) -> Selection | None:
    """What the flags choose among what the manifest selects; None where no flag is given."""
    chosen = ManifestChoice(
        tags=tuple(tags or ()), paths=tuple(paths or ()), operations=tuple(operations or ())
    )
    if chosen == ManifestChoice():
        return None
    given = [f"--{SINGULAR[kind]}" for kind in SINGULAR if getattr(chosen, kind)]

    def where(kind: str, _index: int) -> Position:
        return Position(file=f"--{SINGULAR[kind]}")

    return Selection(chosen, ManifestChoice(), " or ".join(given), where)

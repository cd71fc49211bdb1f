"""Which operations of a document go into the bundle: by tag, by path, by operation.

What is left out is withheld as ``not_selected``, so that the accounting still adds up. Names and ids are
given before, to all operations: selecting others never renames one.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from anvil_core.problems import Position, Problem
from anvil_generator.errors import Failed
from anvil_generator.sources.model import WithheldOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anvil_core.air import SourceRef
    from anvil_generator.manifest import ManifestChoice
    from anvil_generator.sources import Document, FoundOperation

NOT_SELECTED: Literal["not_selected"] = "not_selected"
KINDS = ("tags", "paths", "operations")
SINGULAR = {"tags": "tag", "paths": "path", "operations": "operation"}


@dataclass(frozen=True)
class Selection:
    """One choice: of all operations where ``chosen`` is empty, without those of ``excluded``.

    ``where`` gives the place of a value from its keys, as ("exclude", "tags", 0); ``name`` is what a person
    calls the whole: "`select` of anvil.yaml", or the flags.
    """

    chosen: ManifestChoice
    excluded: ManifestChoice
    name: str
    where: Callable[..., Position]

    def entries(self) -> Iterator[tuple[tuple[str, ...], str, int, str]]:
        """(keys before, kind, index, value) of all that is written."""
        for before, choice in (((), self.chosen), (("exclude",), self.excluded)):
            for kind in KINDS:
                for index, value in enumerate(getattr(choice, kind)):
                    yield before, kind, index, value


def select(document: Document, selection: Selection) -> Document:
    """The document with what is not selected withheld. Raises Failed for a word that selects nothing."""
    problems = [
        _problem(document, selection, before, kind, index, value)
        for before, kind, index, value in selection.entries()
        if not _selects(document, kind, value)
    ]
    if problems:
        raise Failed(problems)
    kept, left = [], []
    for found in document.operations:
        why = _why_not(found, selection)
        if why is None:
            kept.append(found)
        else:
            at = Position(file=found.source.file or document.uri, line=found.source.line)
            left.append(WithheldOperation(found.source, NOT_SELECTED, why, at))
    return replace(document, operations=tuple(kept), withheld=(*document.withheld, *left))


def matches_path(pattern: str, path: str) -> bool:
    """``*`` stands for any text within one part; ``/**`` at the end for the path itself and all below."""
    below = pattern.endswith("/**")
    fixed = pattern.removesuffix("/**") if below else pattern
    parts = ("".join(".*" if one == "**" else "[^/]*" if one == "*" else re.escape(one)
                     for one in re.split(r"(\*+)", fixed)))  # fmt: skip
    return re.fullmatch(parts + ("(/.*)?" if below else ""), path) is not None


def _why_not(found: FoundOperation, selection: Selection) -> str | None:
    """What leaves it out, or None."""
    excluded = _match(found, selection.excluded)
    if excluded:
        kind, value = excluded
        return f'the {SINGULAR[kind]} "{value}" is excluded by {selection.name}'
    if any(getattr(selection.chosen, kind) for kind in KINDS) and not _match(found, selection.chosen):
        return f"{selection.name} does not choose it"
    return None


def _match(found: FoundOperation, choice: ManifestChoice) -> tuple[str, str] | None:
    for tag in choice.tags:
        if tag in found.tags:
            return "tags", tag
    return next(
        (
            (kind, value)
            for kind in ("paths", "operations")
            for value in getattr(choice, kind)
            if _is_at(found.source, kind, value)
        ),
        None,
    )


def _is_at(source: SourceRef, kind: str, value: str) -> bool:
    if kind == "paths":
        return matches_path(value, source.path)
    return value in (source.operation_id, f"{source.method.upper()} {source.path}")


def _selects(document: Document, kind: str, value: str) -> bool:
    """Whether there is such an operation; one that cannot be compiled is told as that elsewhere."""
    if kind == "tags":
        return any(value in found.tags for found in document.operations)
    sources = [one.source for one in document.operations]
    sources += [one.source for one in document.withheld if one.reason != NOT_SELECTED]
    sources += [one.source for one in document.failed]
    return any(_is_at(source, kind, value) for source in sources)


def _problem(
    document: Document, selection: Selection, before: tuple[str, ...], kind: str, index: int, value: str
) -> Problem:
    return Problem(
        severity="error",
        code="selects_nothing",
        message=_nothing(document, kind, value),
        position=selection.where(*before, kind, index),
    )


def _nothing(document: Document, kind: str, value: str) -> str:
    earlier = [one.source for one in document.withheld if one.reason == NOT_SELECTED]
    if kind != "tags" and any(_is_at(source, kind, value) for source in earlier):
        return f'the {SINGULAR[kind]} "{value}" is left out by `select` in the manifest'
    known = sorted(_known(document, kind))
    near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
    guess = f'; did you mean "{near[0]}"?' if near else f"; there are: {_some(known)}"
    what = {
        "tags": f'no operation that can be compiled has the tag "{value}"',
        "paths": f'no path fits "{value}" (* is any text in one part, /** all below)',
        "operations": f'the document has no operation "{value}" (write operationId or METHOD /path)',
    }
    return what[kind] + guess


def _known(document: Document, kind: str) -> set[str]:
    if kind == "tags":
        return {tag for found in document.operations for tag in found.tags}
    if kind == "paths":
        return {found.source.path for found in document.operations}
    return {
        found.source.operation_id or f"{found.source.method.upper()} {found.source.path}"
        for found in document.operations
    }


def _some(known: list[str], most: int = 8) -> str:
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) or "none") + more

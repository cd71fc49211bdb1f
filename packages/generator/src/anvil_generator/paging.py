"""Paged results and work that goes on after the answer, from what the document declares.

A name that says nothing else (``page_token``) is enough; one that may mean something else (``after``) needs
a second sign: an argument for the size of a page, or the next page named in the answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from anvil_core.air import Evidence, Pagination
from anvil_generator.inference import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anvil_core.air import JsonSchema, Operation, Parameter
    from anvil_generator.sources import FoundOperation

    Style = Literal["cursor", "page", "offset", "link"]

_WORDS = VOCABULARY["paging"]
SURE: dict[Style, frozenset[str]] = {style: frozenset(names) for style, names in _WORDS["sure"].items()}
UNSURE: dict[Style, frozenset[str]] = {style: frozenset(names) for style, names in _WORDS["unsure"].items()}
SIZE, SIZE_UNSURE = frozenset(_WORDS["size"]), frozenset(_WORDS["size_unsure"])
NEXT, AROUND_NEXT = frozenset(_WORDS["next"]), frozenset(_WORDS["around_next"])
STATUS_HEADERS = ("azure-asyncoperation", "operation-location", "location", "retry-after")


def pagination(
    found: FoundOperation, parameters: tuple[Parameter, ...], kind: str
) -> tuple[Pagination | None, Evidence | None]:
    """How the operation pages its results, and what that rests on; (None, None) where it does not."""
    names = dict(_names(found, parameters, kind))
    following = next(_next_in(found.output.json_schema or {}), None)
    size = _first(names, SIZE)
    second = size or following or _first(names, SIZE_UNSURE)
    links = kind == "read" and "link" in {name.lower() for name in found.answer_headers}
    for style, sure in SURE.items():
        steer = _first(names, sure) or (_first(names, UNSURE[style]) if second or links else None)
        if steer:
            size = size or _first(names, SIZE_UNSURE)
            made = Pagination(
                style=style,
                steer=steer,
                size=size,
                next=following if style == "cursor" else None,
                arguments=tuple(name for name in (steer, size) if name),
            )
            signs = [f'the argument "{name}"' for name in made.arguments]
            signs += [f'"{following}" in the answer'] if following else []
            signs += ["a Link header"] if links else []
            return made, _guess("pagination", " and ".join(signs), found)
    if links:
        made = Pagination(style="link", size=size, arguments=(size,) if size else ())
        return made, _guess("pagination", "a Link header of the answer", found)
    return None, None


def long_running(found: FoundOperation) -> tuple[bool, Evidence | None]:
    """Whether work goes on after the answer: 202, or the document says so in an extension."""
    if found.extensions.get("x-ms-long-running-operation") is True:
        note = "x-ms-long-running-operation"
    elif "202" in found.statuses:
        declared = {name.lower(): name for name in found.answer_headers}
        told = [declared[name] for name in STATUS_HEADERS if name in declared]
        note = f"it answers 202 with {', '.join(told)}" if told else "it answers 202"
    else:
        return False, None
    return True, Evidence(field="long_running", basis="document", note=note, line=found.source.line)


def with_status_tools(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Each that starts work, with the approved read that tells of one thing below its path."""
    reads = {
        re.sub(r"\{[^}]*\}$", "{}", one.source.path): one.name
        for one in operations
        if one.source.method == "get" and one.state == "approved" and one.effect.kind == "read"
    }
    return tuple(
        one.model_copy(update={"status_tool": reads.get(one.source.path.rstrip("/") + "/{}")})
        if one.long_running and one.source.method == "post"
        else one
        for one in operations
    )


def _guess(field: str, note: str, found: FoundOperation) -> Evidence:
    return Evidence(field=field, basis="guess", note=note, line=found.source.line)


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _first(names: Mapping[str, str], wanted: frozenset[str]) -> str | None:
    return next((argument for plain, argument in names.items() if plain in wanted), None)


def _names(found: FoundOperation, parameters: tuple[Parameter, ...], kind: str) -> Iterator[tuple[str, str]]:
    """(plain name, how a caller says it): the query's, and the body's of a read that is a POST."""
    for one in parameters:
        if one.location == "query":
            yield _plain(one.name), one.argument
    if found.body and kind == "read":
        for name in _properties(found.body.json_schema, found.definitions):
            yield _plain(name), f"{found.body.argument}.{name}"


def _properties(schema: JsonSchema, definitions: Mapping[str, JsonSchema]) -> dict[str, Any]:
    for _ in range(5):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    own = schema.get("properties", {})
    return own if isinstance(own, dict) else {}


def _next_in(schema: JsonSchema) -> Iterator[str]:
    """Where an answer names its next page: at its top, or in a part that is about paging."""
    definitions = schema.get("$defs", {})
    top = _properties(schema, definitions)
    yield from (name for name in top if _plain(name) in NEXT)
    for name, below in top.items():
        if _plain(name) in AROUND_NEXT and isinstance(below, dict):
            yield from (f"{name}.{one}" for one in _properties(below, definitions) if _plain(one) in NEXT)

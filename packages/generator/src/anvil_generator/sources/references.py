"""Where a ``$ref`` may lead: in the same file, in another one, or to a schema that has a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

from anvil_generator.sources import pointers
from anvil_generator.sources.stop import Stop, shortened
from anvil_generator.sources.text import TextError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anvil_generator.sources.pointers import File, Pointer
    from anvil_generator.sources.raw import Raw

# Why a reference is not followed: these withhold an operation, all else fails it.
_REFUSED = frozenset({"network", "outside"})


def candidates(raw: Raw, reference: str, pointer: Pointer) -> Iterator[Pointer]:
    """The places that a reference written at ``pointer`` may mean, the likeliest first.

    Raises Stop when it leaves the document, or names a file that cannot be read.
    """
    here, _ = pointers.split(pointer)
    place, _, fragment = reference.partition("#")
    target = pointers.parse_fragment(fragment)
    if raw.kind == "openapi-3.1":
        yield from _identified(raw, place, fragment, pointer)
    if place in {"", raw.uri, f"./{raw.uri}"} and not (place and here):
        file = here if place == "" else None
    else:
        file = _other(raw, reference, here, pointer)
    if target is not None:
        yield target if file is None else (file, *target)


def _other(raw: Raw, reference: str, here: File | None, pointer: Pointer) -> File | None:
    file: File | None = None
    try:
        file = raw.others.named(reference.partition("#")[0], here)
        if file is not None:
            raw.others.tree(file)
    except TextError as error:
        if error.code in _REFUSED:
            message = f"{shortened(reference)!r} {error.message}"
            raise Stop("external_reference", message, pointer, "external_reference") from error
        where = pointer if error.line is None or file is None else (file,)
        raise Stop(error.code, f"{shortened(reference)!r} {error.message}", where) from error
    return file


def _identified(raw: Raw, place: str, fragment: str, pointer: Pointer) -> Iterator[Pointer]:
    """JSON Schema 2020-12: ``$id`` names a schema and what is relative to it, ``$anchor`` a part of one."""
    around = _nearest_id(raw, pointer)
    target = pointers.parse_fragment(fragment)
    if place == "":
        if around is not None and target is not None:
            yield (*around, *target)
        if target is None:
            yield from _names(raw, pointer).get(f"#{fragment}", ())
        return
    base = "" if around is None else str(raw.at((*around, "$id")))
    for name in dict.fromkeys((place, urljoin(base, place))):
        for found in _names(raw, pointer).get(name, ()):
            if target is not None:
                yield (*found, *target)


def _nearest_id(raw: Raw, pointer: Pointer) -> Pointer | None:
    """The innermost schema around a place that has an ``$id``."""
    file, parts = pointers.split(pointer)
    start = () if file is None else (file,)
    value, nearest = raw.at(start), None
    for length, part in enumerate(parts, 1):
        value = pointers.get(value, (part,))
        if isinstance(value, dict) and isinstance(value.get("$id"), str):
            nearest = (*start, *parts[:length])
    return nearest


def _names(raw: Raw, pointer: Pointer) -> dict[str, list[Pointer]]:
    """Every ``$id`` and, with # before it, every ``$anchor`` of the file around a place; walked once."""
    file, _ = pointers.split(pointer)
    if file not in raw.names:
        start: Pointer = () if file is None else (file,)
        raw.names[file] = _walk(raw.at(start), start)
    return raw.names[file]


def _walk(root: Any, start: Pointer) -> dict[str, list[Pointer]]:
    found: dict[str, list[Pointer]] = {}
    waiting: list[tuple[Any, Pointer]] = [(root, start)]
    while waiting:
        value, pointer = waiting.pop()
        if isinstance(value, dict):
            for key, mark in (("$id", ""), ("$anchor", "#")):
                if isinstance(value.get(key), str):
                    found.setdefault(mark + urldefrag(value[key])[0], []).append(pointer)
            items = [(item, (*pointer, key)) for key, item in value.items()]
        elif isinstance(value, list):
            items = [(item, (*pointer, str(index))) for index, item in enumerate(value)]
        else:
            continue
        waiting.extend(items)
    return {name: sorted(places) for name, places in found.items()}

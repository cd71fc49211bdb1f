"""Which kinds of value a schema of the document can stand for, and which styles can write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from anvil_core.param_styles import SHAPES, shape_of, shapes
from anvil_generator.sources.raw import Stop

if TYPE_CHECKING:
    from anvil_core.param_styles import Shape, Style
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

_DEEPEST = 12
_HINTS: dict[Shape, tuple[str, ...]] = {
    "object": ("properties", "additionalProperties"),
    "array": ("items", "prefixItems"),
}


def of(raw: Raw, schema: Any, pointer: Pointer) -> frozenset[Shape]:
    """The shapes that the schema allows, all where it does not say; null counts for none."""
    return _of(raw, schema, pointer, {}, 0)


def _of(
    raw: Raw, schema: Any, pointer: Pointer, known: dict[Pointer, frozenset[Shape]], depth: int
) -> frozenset[Shape]:
    """``known`` keeps each place from being looked at twice, however often it is referred to."""
    schema, pointer = followed(raw, schema, pointer)
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return SHAPES
    if pointer in known:
        return known[pointer]
    known[pointer] = SHAPES
    found = _own(schema)
    for key in ("allOf", "anyOf", "oneOf"):
        written = schema.get(key)
        parts = [
            _of(raw, part, (*pointer, key, str(at)), known, depth + 1)
            for at, part in enumerate(written if isinstance(written, list) else ())
        ]
        if key == "allOf":
            found = found.intersection(*parts)
        elif parts:
            found &= parts[0].union(*parts)
    known[pointer] = found
    return found


def followed(raw: Raw, schema: Any, pointer: Pointer) -> tuple[Any, Pointer]:
    """The schema behind its references; one that leads back to itself says nothing."""
    try:
        return raw.follow(schema, pointer)
    except Stop as stop:
        if stop.code != "reference_cycle":
            raise
        return {}, pointer


def of_items(raw: Raw, schema: Any, pointer: Pointer) -> frozenset[Shape]:
    """The shapes of a list's items."""
    schema, pointer = followed(raw, schema, pointer)
    if not isinstance(schema, dict) or "items" not in schema:
        return SHAPES
    return of(raw, schema["items"], (*pointer, "items"))


def _own(schema: dict[str, Any]) -> frozenset[Shape]:
    """What the schema says without its combinators."""
    if "const" in schema:
        return frozenset({shape_of(schema["const"])})
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return frozenset(shape_of(value) for value in schema["enum"] if value is not None)
    types = schema.get("type")
    if types is not None:
        names = [name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str)]
        several = {"array", "object"}
        return frozenset(
            cast("Shape", name if name in several else "primitive") for name in names if name != "null"
        )
    hinted = [shape for shape, words in _HINTS.items() if any(word in schema for word in words)]
    return frozenset(hinted) or SHAPES


def check_written(
    raw: Raw, schema: Any, pointer: Pointer, style: Style, location: str, *, explode: bool, what: str
) -> None:
    """Raise Stop where every value that the schema allows falls into an undefined cell of the table."""
    wanted, defined = of(raw, schema, pointer), shapes(style, location, explode=explode)
    how = f"style {style} with explode {str(explode).lower()}"
    if wanted and not wanted & defined:
        kinds = " or ".join(sorted(wanted))
        message = f"{what}: OpenAPI does not say how {how} writes {_article(kinds)} in a {location}"
        raise unsupported(message, pointer)
    items = of_items(raw, schema, pointer)
    if wanted & defined == {"array"} and items and "primitive" not in items:
        raise unsupported(
            f"{what}: OpenAPI does not say how {how} writes a list of lists or objects", pointer
        )


def _article(kinds: str) -> str:
    return f"an {kinds}" if kinds[0] in "ao" else f"a {kinds}"


def unsupported(message: str, pointer: Pointer) -> Stop:
    return Stop("encoding_unsupported", message, pointer, "encoding_unsupported")

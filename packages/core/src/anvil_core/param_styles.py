"""Which values a style can write: one answer for compiler and executor.

From the table "Style Examples" of OpenAPI 3.1.1, 4.8.12.6 (3.0.4 has the same, 3.2.0 adds ``cookie``).
A cell that says n/a there is undefined: the compiler withholds an operation that needs it, and the
executor refuses a value that would fall into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Style = Literal[
    "simple",
    "label",
    "matrix",
    "form",
    "spaceDelimited",
    "pipeDelimited",
    "tabDelimited",  # Swagger 2.0's collectionFormat tsv, for which OpenAPI 3 has no style
    "deepObject",
    "cookie",
]
Shape = Literal["primitive", "array", "object"]

SHAPES: frozenset[Shape] = frozenset({"primitive", "array", "object"})
DELIMITERS: Mapping[str, str] = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
"""What stands between the parts of a list or object; every other style has a comma, or one of its own."""

_NONE: frozenset[Shape] = frozenset()
_SEVERAL: frozenset[Shape] = frozenset({"array", "object"})


def shapes(style: Style, location: str, *, explode: bool) -> frozenset[Shape]:
    """The kinds of value for which the style says how they are written."""
    if style == "deepObject":
        return frozenset({"object"}) if explode else _NONE
    if style in DELIMITERS:
        return _NONE if explode else _SEVERAL
    if style == "form" and location == "cookie" and explode:
        # It would put "&" between cookies, "never correct" there (OpenAPI 3.2.0, 4.12.8).
        return frozenset({"primitive"})
    return SHAPES


def shape_of(value: object) -> Shape:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "primitive"

"""Parameter values as text, in every style of OpenAPI 3.1.1, section 4.8.12.6.

A style writes a value of one parameter; null and undefined leave a parameter out. Keys and values
are percent-encoded here, so that no argument can end its own place in the request. Where a place takes
no percent-encoding (a header, a part of a form), a value that holds what separates it from the next is
refused: what the API reads is what was given, or nothing is sent.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anvil_core.media_types import is_json
from anvil_core.param_styles import DELIMITERS, shape_of, shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anvil_core.air import Parameter
    from anvil_core.param_styles import Style

    Escape = Callable[[str], str]

RESERVED = ":/?@!$'()*,;="
"""What ``allowReserved`` leaves as it is: the reserved characters less those that end a query value."""


class UnsendableError(Exception):
    """A value that cannot be written into the request. ``problem`` is a sentence about the argument."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument, self.problem = argument, problem


def text_of(value: object, argument: str) -> str:
    """A primitive as plain text; integral floats as integers, since JSON has one kind of number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, int):
        return str(value)
    inside = "null" if value is None else "an object or list inside another"
    raise UnsendableError(argument, f"holds {inside}, which its place in the request cannot hold.")


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(text: str, *, reserved: bool = False) -> str:
    return quote(text, safe=RESERVED if reserved else "", encoding="utf-8")


def as_it_is(text: str) -> str:
    """For places that nothing is escaped in."""
    return text


def path_text(parameter: Parameter, value: object) -> str:
    """What replaces ``{name}`` in the path."""
    if parameter.media_type:
        return encode(_content(parameter, parameter.media_type, value))
    value = _checked(parameter.argument, parameter.style, "path", value, explode=parameter.explode)
    if parameter.style in {"label", "matrix"}:
        return _prefixed(parameter, value)
    return _simple(parameter, value, encode)


def header_text(parameter: Parameter, value: object) -> str | None:
    """A header's value: style simple, not percent-encoded; checked where the request is built.

    None for a list or object with nothing in it, which is no value (RFC 6570, 2.3).
    """
    if parameter.media_type:
        return _content(parameter, parameter.media_type, value, ascii_only=True)
    value = _checked(parameter.argument, parameter.style, "header", value, explode=parameter.explode)
    return None if value in ([], {}) else _simple(parameter, value, as_it_is)


def query_pairs(parameter: Parameter, value: object) -> list[tuple[str, str]]:
    """Encoded (name, value) pairs of the query."""
    if parameter.media_type:
        text = _content(parameter, parameter.media_type, value)
        return [(encode(parameter.name), encode(text, reserved=parameter.allow_reserved))]
    return named_pairs(
        parameter.argument,
        parameter.name,
        value,
        style=parameter.style,
        explode=parameter.explode,
        allow_reserved=parameter.allow_reserved,
    )


def cookie_pairs(parameter: Parameter, value: object) -> list[tuple[str, str]]:
    """(name, value) pairs of the Cookie header; checked where the request is built."""
    if parameter.media_type:
        return [(parameter.name, _content(parameter, parameter.media_type, value))]
    return named_pairs(
        parameter.argument,
        parameter.name,
        value,
        style=parameter.style,
        explode=parameter.explode,
        escape=as_it_is if parameter.style == "cookie" else encode,
        location="cookie",
    )


def named_pairs(
    argument: str,
    name: str,
    value: object,
    *,
    style: Style,
    explode: bool,
    allow_reserved: bool = False,
    escape: Escape = encode,
    location: str = "query",
) -> list[tuple[str, str]]:
    """(name, value) pairs of a style that names its values: form and those beside it in the table."""
    value = _checked(argument, style, location, value, explode=explode)
    keep = partial(encode, reserved=True) if allow_reserved else escape
    if style == "deepObject":
        return _deep(argument, name, value, escape, keep)
    if isinstance(value, dict) and explode:
        return [(escape(key), keep(text_of(item, argument))) for key, item in value.items()]
    if isinstance(value, list) and explode:
        return [(escape(name), keep(text_of(item, argument))) for item in value]
    if isinstance(value, list | dict):
        # The comma between two values must not be one of theirs, so here nothing reserved stays.
        between = escape(DELIMITERS[style]) if style in DELIMITERS else ","
        parts = [escape(text_of(item, argument)) for item in _flat(value)]
        return [(escape(name), _joined(argument, parts, between))] if parts else []
    return [(escape(name), keep(text_of(value, argument)))]


def _checked(argument: str, style: Style, location: str, value: object, *, explode: bool) -> object:
    """The value without its undefined members. Raises where the style has no form for such a value."""
    if shape_of(value) not in shapes(style, location, explode=explode):
        wanted = "an object" if style == "deepObject" else "a list or an object"
        wanted = "a single value" if location == "cookie" else wanted
        raise UnsendableError(argument, f"must be {wanted}: OpenAPI's style {style} writes nothing else.")
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value


def _content(parameter: Parameter, media_type: str, value: object, *, ascii_only: bool = False) -> str:
    """The value in the media type that the parameter's ``content`` names."""
    if not is_json(media_type):
        return text_of(value, parameter.argument)
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)


def _flat(value: list[Any] | dict[str, Any]) -> list[Any]:
    """An object as R,100,G,200; a list as it is."""
    return [part for pair in value.items() for part in pair] if isinstance(value, dict) else value


def _joined(argument: str, parts: list[str], between: str) -> str:
    for part in parts:
        if between in part or (between == "," and part != part.strip()):
            said = {" ": "a space", "%20": "a space", "\t": "a tab", "%09": "a tab", "%7C": '"|"'}
            what = said.get(between, f'"{between}"')
            if between not in part:
                what = "a space at its end"
            raise UnsendableError(argument, f"holds {what} in one of several values, which it would split.")
    return between.join(parts)


def _pairs_of(parameter: Parameter, value: Mapping[str, Any], escape: Escape) -> list[str]:
    """An exploded object as R=100."""
    names = [escape(key) for key in value]
    if any("=" in name for name in names):
        raise UnsendableError(parameter.argument, 'holds a name with "=", which would end the name.')
    texts = [escape(text_of(item, parameter.argument)) for item in value.values()]
    return [f"{name}={text}" for name, text in zip(names, texts, strict=True)]


def _simple(parameter: Parameter, value: object, escape: Escape) -> str:
    if isinstance(value, list | dict):
        between = DELIMITERS.get(parameter.style)
        return _joined(
            parameter.argument, _parts(parameter, value, escape), escape(between) if between else ","
        )
    return escape(text_of(value, parameter.argument))


def _parts(parameter: Parameter, value: list[Any] | dict[str, Any], escape: Escape) -> list[str]:
    if isinstance(value, dict) and parameter.explode:
        return _pairs_of(parameter, value, escape)
    return [escape(text_of(item, parameter.argument)) for item in _flat(value)]


def _prefixed(parameter: Parameter, value: object) -> str:
    """Styles label (``.blue``) and matrix (``;color=blue``); an empty text is ``;color`` in the latter."""
    name, argument = encode(parameter.name), parameter.argument
    if not isinstance(value, list | dict):
        text = encode(text_of(value, argument))
        if parameter.style == "label":
            return f".{text}"
        return f";{name}={text}" if text else f";{name}"
    parts = _parts(parameter, value, encode)
    if not parts:
        raise UnsendableError(argument, "must have a value: it is part of the path.")
    if parameter.style == "label":
        return "." + _joined(argument, parts, "." if parameter.explode else ",")
    if not parameter.explode:
        return f";{name}={_joined(argument, parts, ',')}"
    if isinstance(value, dict):
        return "".join(f";{part}" for part in parts)
    return "".join(f";{name}={part}" if part else f";{name}" for part in parts)


def _deep(argument: str, name: str, value: object, escape: Escape, keep: Escape) -> list[tuple[str, str]]:
    """``color[R]=100``; below that, where OpenAPI is silent, ``a[b][c]`` as every API reads it.

    Lists are read in as many ways as there are frameworks, so none is written.
    """
    if isinstance(value, list):
        raise UnsendableError(argument, "holds a list, for which OpenAPI's style deepObject has no form.")
    if not isinstance(value, dict):
        return [] if value is None else [(escape(name), keep(text_of(value, argument)))]
    if any("[" in key or "]" in key for key in value):
        raise UnsendableError(argument, "holds a name with a bracket, which would end the name.")
    inner = [_deep(argument, f"{name}[{key}]", item, escape, keep) for key, item in value.items()]
    return [pair for pairs in inner for pair in pairs]

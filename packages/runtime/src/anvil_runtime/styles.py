"""Parameter values as text, in every style of OpenAPI 3.1.1, section 4.8.12.6.

A style writes a value of one parameter; null and undefined leave a parameter out. Keys and values
are percent-encoded here, so that no argument can end its own place in the request.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anvil_core.media_types import is_json

if TYPE_CHECKING:
    from anvil_core.air import Parameter

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
    if value is None:
        return ""
    raise UnsendableError(
        argument, "holds an object or list inside another, which its place in the request cannot hold."
    )


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(text: str, *, reserved: bool = False) -> str:
    return quote(text, safe=RESERVED if reserved else "", encoding="utf-8")


def path_text(parameter: Parameter, value: object) -> str:
    """What replaces ``{name}`` in the path."""
    if parameter.media_type:
        return encode(_content(parameter, parameter.media_type, value))
    if parameter.style in {"label", "matrix"}:
        return _prefixed(parameter, value)
    return ",".join(_simple_parts(parameter, value, escape=True))


def header_text(parameter: Parameter, value: object) -> str:
    """A header's value: style simple, not percent-encoded; checked where the request is built."""
    if parameter.media_type:
        return _content(parameter, parameter.media_type, value, ascii_only=True)
    return ",".join(_simple_parts(parameter, value, escape=False))


def query_pairs(parameter: Parameter, value: object) -> list[tuple[str, str]]:
    """Encoded (name, value) pairs of the query."""
    name, reserved = encode(parameter.name), parameter.allow_reserved
    if parameter.media_type:
        return [(name, encode(_content(parameter, parameter.media_type, value), reserved=reserved))]
    if parameter.style == "deepObject":
        return _deep(parameter, parameter.name, value)
    if isinstance(value, dict) and parameter.style == "form" and parameter.explode:
        return [(encode(key), _text(parameter, item)) for key, item in value.items() if item is not None]
    if isinstance(value, list) and parameter.explode:
        return [(name, _text(parameter, item)) for item in value]
    if isinstance(value, list | dict):
        between = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(parameter.style, ",")
        flat = _flat(value)
        return [(name, between.join(_text(parameter, item) for item in flat))] if flat else []
    return [(name, _text(parameter, value))]


def _content(parameter: Parameter, media_type: str, value: object, *, ascii_only: bool = False) -> str:
    """The value in the media type that the parameter's ``content`` names."""
    if not is_json(media_type):
        return text_of(value, parameter.argument)
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)


def _text(parameter: Parameter, value: object) -> str:
    return encode(text_of(value, parameter.argument), reserved=parameter.allow_reserved)


def _flat(value: list[Any] | dict[str, Any]) -> list[Any]:
    """An object as R,100,G,200; a list as it is."""
    return [part for pair in value.items() for part in pair] if isinstance(value, dict) else value


def _simple_parts(parameter: Parameter, value: object, *, escape: bool) -> list[str]:
    def written(item: object) -> str:
        text = text_of(item, parameter.argument)
        return encode(text) if escape else text

    if isinstance(value, dict) and parameter.explode:
        return [f"{written(key)}={written(item)}" for key, item in value.items()]
    if isinstance(value, list | dict):
        return [written(item) for item in _flat(value)]
    return [written(value)]


def _prefixed(parameter: Parameter, value: object) -> str:
    """Styles label (``.blue``) and matrix (``;color=blue``)."""
    name, explode = encode(parameter.name), parameter.explode
    if parameter.style == "label":
        between = "." if explode else ","
        return "." + between.join(_simple_parts(parameter, value, escape=True))
    if isinstance(value, dict) and explode:
        return "".join(f";{part}" for part in _simple_parts(parameter, value, escape=True))
    if isinstance(value, list) and explode:
        return "".join(f";{name}={part}" for part in _simple_parts(parameter, value, escape=True))
    joined = ",".join(_simple_parts(parameter, value, escape=True))
    return f";{name}={joined}" if joined else f";{name}"


def _deep(parameter: Parameter, name: str, value: object) -> list[tuple[str, str]]:
    """``color[R]=100``; below that, where OpenAPI is silent, ``a[b][c]`` and ``a[b][0]`` as APIs read it."""
    if isinstance(value, dict):
        inner = [_deep(parameter, f"{name}[{key}]", item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [_deep(parameter, f"{name}[{index}]", item) for index, item in enumerate(value)]
    else:
        return [] if value is None else [(encode(name), _text(parameter, value))]
    return [pair for pairs in inner for pair in pairs]

"""Parameters: path item and operation merged, each an argument, a constant, or left out with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from anvil_core import media_types, request_headers
from anvil_core.air import Constant, JsonSchema, Location, Parameter
from anvil_generator.sources import arguments, constants, shapes
from anvil_generator.sources.limits import MOST_PARAMETERS, PER_PARAMETER
from anvil_generator.sources.raw import Stop, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_core.air import AuthScheme
    from anvil_core.param_styles import Style
    from anvil_generator.sources.definitions import Definitions
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

# The first one is the default (OpenAPI 3.1, 4.8.12.2); ``cookie`` is 3.2's.
STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_DELIMITED: tuple[Style, ...] = ("spaceDelimited", "tabDelimited", "pipeDelimited")
"""What Swagger 2.0's ssv, tsv and pipes become, which it allows in any place."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One parameter object, followed to where it stands."""

    name: str
    location: Location
    value: dict[str, Any]
    pointer: Pointer

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same parameter; header names have no case."""
        return self.location, self.name.lower() if self.location == "header" else self.name

    @property
    def required(self) -> bool:
        return self.location == "path" or self.value.get("required") is True


@dataclass(slots=True)
class Parameters:
    """What became of an operation's parameters; ``reaches`` are the places their schemas refer to."""

    arguments: tuple[Parameter, ...] = ()
    constants: tuple[Constant, ...] = ()
    reaches: set[Pointer] = field(default_factory=set)


def declared(raw: Raw, lists: Sequence[tuple[Any, Pointer]]) -> list[Declared]:
    """The parameters of several lists; a later list wins over an earlier one."""
    merged: dict[tuple[str, str], Declared] = {}
    for entries, pointer in lists:
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise Stop("parameters_invalid", "`parameters` must be a list", pointer)
        if len(entries) > MOST_PARAMETERS:
            raise Stop("parameters_too_many", f"has more than {MOST_PARAMETERS} parameters", pointer)
        here: set[tuple[str, str]] = set()
        for index, entry in enumerate(entries):
            parameter = _declared(raw, entry, (*pointer, str(index)))
            if parameter is None:
                continue
            if parameter.key in here:
                message = f"{parameter.location} parameter {parameter.name!r} is declared twice"
                raw.warn("parameter_duplicate", message, (*pointer, str(index)))
                continue
            here.add(parameter.key)
            merged[parameter.key] = parameter
    return list(merged.values())


def _declared(raw: Raw, entry: Any, pointer: Pointer) -> Declared | None:
    raw.budget.step(PER_PARAMETER)
    value, there = raw.object_at(entry, pointer, "a parameter")
    name, location = value.get("name"), value.get("in")
    if not isinstance(name, str) or not name:
        raise Stop("parameter_without_name", "a parameter needs a `name`", there)
    if not isinstance(location, str) or location not in STYLES:
        raise Stop("parameter_location", f"parameter {name!r} has no valid `in`", there)
    if location in {"header", "cookie"} and not request_headers.NAME.fullmatch(name):
        if value.get("required") is True:
            raise Stop("parameter_name", f"{name!r} is no name for a {location}", there)
        raw.warn("parameter_name", f"{name!r} is no name for a {location}; left out", there)
        return None
    return Declared(name, cast("Location", location), value, there)


def read(
    raw: Raw,
    definitions: Definitions,
    found: Sequence[Declared],
    schemes: Sequence[AuthScheme],
    *,
    has_body: bool,
    reads: bool = False,
) -> Parameters:
    """Sort the parameters into arguments and constants; raises Stop for one that cannot be given.

    One that cannot be written is left out with a warning where it is optional and the operation
    ``reads``. A mutation without one of its filters would change more than was meant.
    """
    result = Parameters()
    given: list[tuple[Declared, JsonSchema, str | None]] = []
    bound: list[Constant] = []
    for parameter in found:
        if request_headers.is_ignored(parameter.name, parameter.location):
            continue
        if _dropped(raw, parameter, schemes):
            continue
        value = constants.value(raw, parameter)
        if value is not None:
            bound.append(Constant(name=parameter.name, location=parameter.location, value=value))
            continue
        media_type = _media_type(parameter)
        try:
            _check_written(raw, parameter, media_type)
        except Stop as stop:
            if parameter.required or not reads or not stop.reason:
                raise
            raw.warn(stop.code, f"{stop.message}; left out", stop.pointer)
            continue
        schema, reaches = _schema(raw, definitions, parameter, media_type)
        result.reaches |= reaches
        given.append((parameter, schema, media_type))
    names = arguments.assign(((p.location, p.name) for p, _, _ in given), has_body=has_body)
    result.constants = tuple(bound)
    result.arguments = tuple(
        _parameter(raw, parameter, schema, media_type, names[parameter.location, parameter.name])
        for parameter, schema, media_type in given
    )
    return result


def _dropped(raw: Raw, parameter: Declared, schemes: Sequence[AuthScheme]) -> bool:
    """Whether it is never an argument: it steers the request itself, or it is a credential."""
    what = f"{parameter.location} parameter {parameter.name!r}"
    if request_headers.is_never_an_argument(parameter.name, parameter.location):
        message = f"{what} says who calls or steers the request itself, and is never an argument"
        if parameter.required:
            raise Stop("forbidden_parameter", message, parameter.pointer, "forbidden_parameter")
        raw.warn("forbidden_parameter", message, parameter.pointer)
        return True
    for scheme in schemes:
        if scheme.kind == "api_key" and scheme.location and scheme.name:
            carrier = Declared(scheme.name, scheme.location, {}, ())
            if carrier.key == parameter.key:
                message = f"{what} carries the credential of {scheme.id!r} and is never an argument"
                raw.warn("credential_parameter", message, parameter.pointer)
                return True
    return False


def _media_type(parameter: Declared) -> str | None:
    """The media type of a ``content`` parameter, None for one with a schema."""
    content = parameter.value.get("content")
    if content is None:
        return None
    if not isinstance(content, dict) or len(content) != 1:
        raise Stop(
            "parameter_content", f"`content` of {parameter.name!r} needs exactly one entry", parameter.pointer
        )
    return str(next(iter(content)))


def _check_written(raw: Raw, parameter: Declared, media_type: str | None) -> None:
    """Raise Stop for a parameter that no value of can be written into a request."""
    what = f"{parameter.location} parameter {parameter.name!r}"
    if media_type is not None:
        kind = media_types.kind_of(media_type)
        quoted_there = kind == "json" and parameter.location == "cookie"
        if kind not in media_types.SUPPORTED_PARAMETERS or quoted_there:
            raise shapes.unsupported(f"{what} cannot be written as {media_type}", parameter.pointer)
        return
    style, explode = _style(raw, parameter)
    if "schema" in parameter.value:
        at = (*parameter.pointer, "schema")
        shapes.check_written(
            raw, parameter.value["schema"], at, style, parameter.location, explode=explode, what=what
        )


def _schema(
    raw: Raw, definitions: Definitions, parameter: Declared, media_type: str | None
) -> tuple[JsonSchema, set[Pointer]]:
    """The parameter's schema, with its own description and deprecation."""
    value, pointer = parameter.value, parameter.pointer
    if media_type is not None:
        pointer = (*pointer, "content", media_type)
        entry, pointer = raw.object_at(value["content"][media_type], pointer, "a media type")
        schema, reaches = definitions.inline(entry.get("schema", {}), (*pointer, "schema"), "request")
    elif "schema" in value:
        schema, reaches = definitions.inline(value["schema"], (*pointer, "schema"), "request")
    else:
        raw.warn(
            "parameter_without_schema", f"parameter {parameter.name!r} has no schema; read as text", pointer
        )
        schema, reaches = {"type": "string"}, set()
    own: JsonSchema = {}
    if text(value.get("description")):
        own["description"] = text(value["description"])
    if value.get("deprecated") is True:
        own["deprecated"] = True
    if "example" in value and "examples" not in schema:
        own["examples"] = [value["example"]]
    return schema | own, reaches


def _style(raw: Raw, parameter: Declared) -> tuple[Style, bool]:
    """Style and explode, defaults filled in."""
    value, styles = parameter.value, STYLES[parameter.location]
    allowed = (*styles, *_DELIMITED) if raw.kind == "swagger-2.0" else styles
    style = value.get("style", styles[0])
    if style not in allowed:
        message = f"style {style!r} is not for a {parameter.location} parameter"
        raise Stop("parameter_style", message, (*parameter.pointer, "style"))
    # deepObject has an exploded form only, and documents that do not say so mean that one.
    usual = style in {"form", "cookie", "deepObject"}
    return style, value["explode"] is True if "explode" in value else usual


def _parameter(
    raw: Raw, parameter: Declared, schema: JsonSchema, media_type: str | None, argument: str
) -> Parameter:
    style, explode = _style(raw, parameter)
    return Parameter(
        argument=argument,
        name=parameter.name,
        location=parameter.location,
        required=parameter.required,
        style=style,
        explode=explode,
        allow_reserved=parameter.location == "query" and parameter.value.get("allowReserved") is True,
        media_type=media_type,
        json_schema=schema,
    )

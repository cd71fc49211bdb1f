"""The success answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anvil_core import media_types
from anvil_core.air import Output
from anvil_generator.sources import media
from anvil_generator.sources.definitions import TOO_LARGE
from anvil_generator.sources.raw import Stop

if TYPE_CHECKING:
    from anvil_generator.sources.definitions import Definitions
    from anvil_generator.sources.pointers import Pointer
    from anvil_generator.sources.raw import Raw

_SUCCESS = re.compile(r"2([0-9][0-9]|XX)")


def statuses(responses: dict[str, Any]) -> tuple[str, ...]:
    """The declared success codes in the order they are looked at; ``2XX`` comes last."""
    declared = [code for code in responses if _SUCCESS.fullmatch(code.upper())]
    return tuple(sorted(declared))


def headers(raw: Raw, responses: dict[str, Any], pointer: Pointer) -> tuple[str, ...]:
    """The names of the headers that the success answers declare."""
    found: set[str] = set()
    for code in statuses(responses):
        response, _ = raw.object_at(responses[code], (*pointer, code), "a response")
        declared = response.get("headers")
        found |= {str(name) for name in declared} if isinstance(declared, dict) else set()
    return tuple(sorted(found))


def read(raw: Raw, definitions: Definitions, responses: Any, pointer: Pointer) -> Output:
    """The first success answer in JSON; ``default`` counts only where no success code is declared.

    Where no answer is JSON the first media type is told without a schema. The ``$defs`` that the
    schema reaches stand under it.
    """
    if not isinstance(responses, dict):
        raise Stop("responses_invalid", "`responses` must be an object", pointer)
    other: str | None = None
    for code in statuses(responses) or tuple(code for code in ("default",) if code in responses):
        response, there = raw.object_at(responses[code], (*pointer, code), "a response")
        content = response.get("content")
        if not isinstance(content, dict) or not content:
            continue
        chosen = media.choose(content)
        if chosen is None or not media_types.fits_json(chosen):
            other = other or next(iter(content))
            continue
        entry, at = raw.object_at(content[chosen], (*there, "content", chosen), "a media type")
        if "schema" not in entry:
            return Output(media_type=chosen)
        try:
            schema, reaches = definitions.inline(entry["schema"], (*at, "schema"), "response")
            defs = definitions.closure(reaches, "response")
        except Stop as stop:
            if stop.code != TOO_LARGE:
                raise
            raw.warn(TOO_LARGE, f"answers are not checked: {stop.message}", (*at, "schema"))
            return Output(media_type=chosen)
        return Output(media_type=chosen, json_schema={**schema, "$defs": defs} if defs else schema)
    return Output(media_type=other)

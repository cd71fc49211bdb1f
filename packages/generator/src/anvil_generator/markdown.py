"""Text of a document as it may stand in a page: one line, no markup that begins anything, nothing unseen.

A description is written by whoever wrote the API's document, and is read by a model as part of a page
that we wrote: it may say what it likes, on its own line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_INPUT = 10_000

# Whatever a reader does not see, or that turns what it sees around: control characters but for white
# space, fillers, zero-width characters, bidirectional controls, variation selectors, tag characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_BLOCKS = (
    "address article blockquote br center dd div dl dt footer h[1-6] header hr li main nav ol p pre section "
    "table tbody td tfoot th thead tr ul"
)
_INLINE = "a abbr b big code del em font i img ins kbd mark s samp small span strike strong sub sup tt u var"
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_BLOCK_TAG = re.compile(rf"</?({'|'.join(_BLOCKS.split())})(\s[^<>]*)?/?>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?({'|'.join(_INLINE.split())})(\s[^<>]*)?/?>", re.IGNORECASE)
# A tag that is not known is text to be read, as "<id>"; an address in angle brackets is a link.
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]+>)")
# What begins a heading, a list, a quotation, a rule, a table or a block of code at the start of a line.
_BLOCK_START = re.compile(
    r"[0-9]+(?=[.)](\s|$))|(?=#{1,6}(\s|$)|[-+*](\s|$)|>|```|~~~|\||=+$|([-_*]\s*){3,}$)"
)


def one_line(text: str, longest: int = 300) -> str:
    """The text on one line that begins no block of Markdown, cut at a word where it is long."""
    flat = plain(text, longest)
    begins = _BLOCK_START.match(flat)
    return f"{flat[: begins.end()]}\\{flat[begins.end() :]}" if begins else flat


def plain(text: str, longest: int = 300) -> str:
    """The text on one line without HTML and unseen characters, cut at a word where it is long."""
    return _outside_code(_flat(text, longest), lambda part: _TAG_START.sub(r"\<", part))


def _flat(text: str, longest: int) -> str:
    seen = _UNSEEN.sub("", text[:LONGEST_INPUT].replace("\r\n", "\n"))
    paragraphs = [" ".join(part.split()) for part in _outside_code(seen, _without_tags).split("\n\n")]
    paragraphs = [part for part in paragraphs if part]
    ended = [part if part[-1] in ".:;!?" else f"{part}." for part in paragraphs[:-1]]
    flat = " ".join([*ended, *paragraphs[-1:]])
    return flat if len(flat) <= longest else flat[:longest].rsplit(" ", 1)[0] + " ..."


def in_code(name: str, longest: int = 80) -> str:
    """A name as it may stand between two backticks."""
    flat = " ".join(_UNSEEN.sub("", name).split()).replace("`", "'")
    return flat if len(flat) <= longest else f"{flat[:longest]}..."


def in_link(text: str, longest: int = 80) -> str:
    """A text as it may stand between the brackets of a link."""
    return _flat(text, longest).translate(str.maketrans("[]<>\\`", "()()/'"))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _without_tags(text: str) -> str:
    text = _HIDDEN.sub(" ", text).replace("&nbsp;", " ")
    return _INLINE_TAG.sub("", _BLOCK_TAG.sub("\n\n", text))

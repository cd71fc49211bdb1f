"""Tables of a TOML text put in, changed and taken out; every other byte stays.

A library that keeps comments gives a comment that follows a table to that table, and takes it away with
it. Here a table ends after its last value, and each result is read again by the caller.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import tomllib

from anvil_shims.installing import text_files
from anvil_shims.installing.actions import ActionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Path = tuple[str, ...]


def parse(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(text_files.MARK).replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        line = _line_of(str(error), text)
        message = f"is not valid TOML ({error}), and was left as it is; mend it and try again"
        raise ActionError("config_unreadable", message, file, line) from None


def with_entry(text: str, path: Path, value: Mapping[str, Any] | None) -> str:
    """The text with the table at ``path`` holding ``value``; None: without it and all below it."""
    mark = text_files.MARK if text.startswith(text_files.MARK) else ""
    body = text.removeprefix(mark)
    old = _lookup(parse(body, ""), path)
    if old == value:
        return text
    if value is None:
        return mark + _without(body, path)
    scalars = {key: one for key, one in value.items() if not isinstance(one, dict)}
    nested = {key: one for key, one in value.items() if isinstance(one, dict)}
    if isinstance(old, dict) and nested == {key: one for key, one in old.items() if isinstance(one, dict)}:
        return mark + _replaced(body, path, scalars)
    body = _without(body, path)
    for where, table in _tables(path, value):
        body = _appended(body, where, table)
    return mark + body


def _lookup(data: Any, path: Path) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _tables(path: Path, value: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    scalars = {key: one for key, one in value.items() if not isinstance(one, dict)}
    if scalars or not value:
        yield path, scalars
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _tables((*path, key), one)


def _appended(body: str, path: Path, table: Mapping[str, Any]) -> str:
    """At the end, after one empty line; a text without a final line end stays without one."""
    end = text_files.newline(body)
    block = _block(path, table, end)
    if not body:
        return block
    if body.endswith("\n"):
        return body + end + block
    return body + end + end + block.removesuffix(end)


def _block(path: Path, table: Mapping[str, Any], end: str) -> str:
    lines = [
        f"[{'.'.join(map(_key, path))}]",
        *(f"{_key(key)} = {_value(one)}" for key, one in table.items()),
    ]
    return "".join(line + end for line in lines)


def _without(body: str, path: Path) -> str:
    lines = body.splitlines(keepends=True)
    for first, last in reversed([span for where, *span in _blocks(lines) if where[: len(path)] == path]):
        begin = first - 1 if first and not lines[first - 1].strip() else first
        ends_bare = last == len(lines) and not lines[-1].endswith("\n")
        del lines[begin:last]
        if ends_bare and lines:  # so was the text before the table came
            lines[-1] = lines[-1].rstrip("\r\n")
    return "".join(lines)


def _replaced(body: str, path: Path, scalars: Mapping[str, Any]) -> str:
    lines = body.splitlines(keepends=True)
    end = text_files.newline(body)
    for where, first, last in _blocks(lines):
        if where == path:
            block = _block(path, scalars, end)
            bare = last == len(lines) and not lines[-1].endswith("\n")
            lines[first:last] = [block.removesuffix(end) if bare else block]
            return "".join(lines)
    return _appended(body, path, scalars)


def _blocks(lines: list[str]) -> list[tuple[Path, int, int]]:
    """(path, first line, line after its last value) of each table that has a header of its own."""
    headers = [index for index, line in enumerate(lines) if line.lstrip().startswith("[")]
    real = [index for index in headers if _parses("".join(lines[:index])) and _path(lines[index])]
    found = []
    for index, following in zip(real, [*real[1:], len(lines)], strict=False):
        last = following
        # Empty lines and comments at the end belong to whatever follows. Inside a value there are none
        # that matter: what is cut off is put back when the rest does not parse.
        while last > index + 1 and _empty(lines[last - 1]) and _parses("".join(lines[: last - 1])):
            last -= 1
        found.append((_path(lines[index]), index, last))
    return found


def _empty(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _parses(text: str) -> bool:
    """Whether a value ends here: in the middle of one, what stands before is no document."""
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _path(line: str) -> Path:
    """The path of a header; an array of tables is none of ours, and ends a table all the same."""
    try:
        data: Any = tomllib.loads(line.strip())
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(data, dict) and data:
        ((key, data),) = data.items()
        path.append(key)
    return (*path, "[]") if isinstance(data, list) else tuple(path)


def _key(key: str) -> str:
    bare = key and all(char.isascii() and (char.isalnum() or char in "-_") for char in key)
    return key if bare else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _line_of(message: str, text: str) -> int | None:
    _, found, rest = message.partition("at line ")
    if found:
        return int(rest.partition(",")[0])
    return text.count("\n") + 1 if "end of document" in message else None

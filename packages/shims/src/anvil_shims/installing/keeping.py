"""Lets a harness's own command change its configuration, and puts back every byte that is not ours.

Harness commands rewrite the whole file: line ends, a byte order mark, indentation and the order of keys are
lost. What the command made of *our* entries is merged into the text that was there before. Where the two
would then not mean the same, the command's own text stays, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from anvil_shims.installing import json_entries, text_files, toml_entries
from anvil_shims.installing.actions import ActionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Entry = tuple[str, ...]


@dataclass(frozen=True)
class Config:
    """One configuration file.

    ``empties``: how an object is written when nothing is left in it; None takes it away.
    """

    path: Path
    form: Literal["json", "toml"]
    empties: dict[str, str | None] = field(default_factory=dict)

    def read(self) -> tuple[str | None, dict[str, Any]]:
        """The text and what it says. Raises ActionError where it cannot be parsed."""
        text = text_files.read(self.path)
        return text, self.parse(text) if text else {}

    def parse(self, text: str) -> dict[str, Any]:
        if self.form == "json":
            return json_entries.parse(text, str(self.path))
        return toml_entries.parse(text, str(self.path))

    def found_empty(self, keys: set[str]) -> dict[str, str | None]:
        """How each of these objects at the root is written now, when nothing is in it."""
        text, _ = self.read()
        if self.form == "toml" or not text:
            return {}
        found = {key: json_entries.container(text, key) for key in sorted(keys)}
        return {key: spelling for key, spelling in found.items() if spelling != "full"}

    def put(self, text: str, entry: Entry, value: Any) -> str:
        if lookup(self.parse(text), entry) == value:
            return text
        if self.form == "json":
            return json_entries.with_entry(text, entry, value, self.empties.get(entry[0], "{}"))
        return toml_entries.with_entry(text, entry, value)


def lookup(data: Any, entry: Entry) -> Any:
    for key in entry:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def run_keeping(config: Config, entries: Sequence[Entry], run: Callable[[], None]) -> bool:
    """Run; then the file is as before but for ``entries``. False: it was rewritten, and means the same.

    What a run did before it failed is merged in the same way, and the failure goes on.
    """
    before, _ = config.read()
    mode = text_files.mode(config.path)
    try:
        run()
    except BaseException:
        _keep(config, before, mode, entries)
        raise
    return _keep(config, before, mode, entries)


def _keep(config: Config, before: str | None, mode: int | None, entries: Sequence[Entry]) -> bool:
    after, wanted = config.read()
    if before is None or after is None:
        return True
    try:
        if not before.strip() or after == before:
            return True
        return _merge(config, before, {entry: lookup(wanted, entry) for entry in entries}, wanted)
    finally:
        text_files.set_mode(config.path, mode)


def change(config: Config, values: dict[Entry, Any]) -> bool:
    """Put our entries in, or with None take them out, by ourselves. False: nothing was changed."""
    text, data = config.read()
    if all(lookup(data, entry) == value for entry, value in values.items()):
        return True
    wanted = data
    for entry, value in values.items():
        wanted = _with(wanted, entry, value)
    return _merge(config, text or "", values, wanted)


def _merge(config: Config, text: str, values: dict[Entry, Any], wanted: dict[str, Any]) -> bool:
    try:
        for entry, value in values.items():
            text = config.put(text, entry, value)
        same = bool(_without_empty(config.parse(text)) == _without_empty(wanted))
    except ActionError:  # a spelling that the editor cannot change, such as an inline table
        return False
    if same:
        text_files.write(config.path, text)
    return same


def _with(data: Any, entry: Entry, value: Any) -> Any:
    data = dict(data) if isinstance(data, dict) else {}
    first, rest = entry[0], entry[1:]
    if rest:
        data[first] = _with(data.get(first), rest, value)
    elif value is None:
        data.pop(first, None)
    else:
        data[first] = value
    return data


def _without_empty(data: Any) -> Any:
    """Two texts mean the same to a harness when they differ in empty objects alone."""
    if not isinstance(data, dict):
        return data
    cleaned = {key: _without_empty(value) for key, value in data.items()}
    return {key: value for key, value in cleaned.items() if value != {}}

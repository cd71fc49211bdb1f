"""What an install did, kept in Anvil's own folder so that an uninstall can undo it and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_shims.installing import text_files
from anvil_shims.installing.actions import ActionError
from anvil_shims.installing.keeping import Config, lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anvil_shims.installing.actions import Surroundings
    from anvil_shims.installing.keeping import Entry


@dataclass
class Record:
    """``before``: our entries as they were ahead of the first install, [entry, value or None] each.

    ``blank``: the whole text of the configuration when it said nothing; None when there was no file, and
    "full" when it said something.
    """

    harness: str
    plugin: str
    marketplace: str
    service: str
    bundle: str
    config: str
    blank: str | None
    before: list[tuple[list[str], Any]]
    empties: dict[str, str | None] = field(default_factory=dict)

    def was(self, entry: Entry) -> Any:
        return next((value for path, value in self.before if tuple(path) == entry), None)


def folder(where: Surroundings) -> Path:
    return where.home / ".local" / "state" / "anvil" / "installs"


def path_of(where: Surroundings, harness: str, plugin: str, config: Path) -> Path:
    mark = hashlib.sha256(os.path.abspath(config).encode()).hexdigest()[:12]  # noqa: PTH100  # not resolved
    return folder(where) / f"{harness}-{plugin}-{mark}.json"


def load(path: Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        message = f"cannot be read ({error}); remove it, and undo by hand what it stood for"
        raise ActionError("record_unreadable", message, str(path)) from None


def find(where: Surroundings, harness: str, name: str | None = None) -> list[Record]:
    """The records of a harness, sorted by file; of one plugin or service when it is named."""
    loaded = [load(path) for path in sorted(folder(where).glob(f"{harness}-*.json"))]
    ours = [record for record in loaded if record is not None and record.harness == harness]
    return [record for record in ours if name is None or name in (record.plugin, record.service)]


def save(where: Surroundings, record: Record) -> None:
    place = folder(where)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in (place.parent, place):
        if each.is_symlink() or (hasattr(os, "getuid") and each.stat().st_uid != os.getuid()):
            message = "is a symlink or another user's; nothing was installed. Move it away and try again"
            raise ActionError("state_unusable", message, str(each))
        each.chmod(0o700)
    text = json.dumps(asdict(record), indent=2, sort_keys=True) + "\n"
    text_files.write(path_of(where, record.harness, record.plugin, Path(record.config)), text)


def forget(where: Surroundings, record: Record) -> None:
    path_of(where, record.harness, record.plugin, Path(record.config)).unlink(missing_ok=True)


def started(where: Surroundings, config: Config, entries: Sequence[Entry], **names: str) -> Record:
    """The record of an install that begins now: entries that no install had touched are remembered."""
    text, data = config.read()
    record = load(path_of(where, names["harness"], names["plugin"], config.path))
    if record is None:
        blank = text if not data else "full"
        record = Record(config=str(config.path), blank=blank, before=[], **names)  # type: ignore[arg-type]
        record.empties = config.found_empty({entry[0] for entry in entries})
    known = {tuple(path) for path, _ in record.before}
    record.before += [(list(one), lookup(data, one)) for one in entries if one not in known]
    record.bundle, record.marketplace = names["bundle"], names["marketplace"]
    return record


def put_back_blank(record: Record) -> None:
    """A configuration that said nothing before, and says nothing now, is as it was, or gone."""
    config = Config(Path(record.config), "toml" if record.config.endswith(".toml") else "json")
    text, data = config.read()
    if text is None or record.blank == "full" or any(value != {} for value in data.values()):
        return
    if config.form == "toml" and "#" in text:
        return  # comments are the user's
    if record.blank is not None:
        text_files.write(config.path, record.blank)
    elif not config.path.is_symlink():
        config.path.unlink()

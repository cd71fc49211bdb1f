"""`docs/reference/compatibility.html`: facts against versions, made from the committed records alone.

A row is one facet of a probe. Its cell of a version says whether all that Anvil relies on in it holds there;
where nothing is relied on, whether it is as in the newest version.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import markupsafe
import yaml

from anvil_lab.contract import relied, rows, verified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anvil_lab.contract.record import Record
    from anvil_lab.contract.rows import Probe

PAGE = Path("docs/reference/compatibility.html")
TEMPLATE = Path(__file__).with_name("page.html.j2")
SCRIPT = Path(__file__).with_name("page.js")
# What a cell can say: the class of its colour, its sign, and its words.
HOLDS = ("holds", "✓", "what Anvil relies on holds")
BROKEN = ("broken", "✗", "what Anvil relies on does not hold")
SAME = ("same", "·", "as in the newest version")
DIFFERS = ("differs", "≠", "otherwise than in the newest version")
UNABLE = ("unable", "!", "could not be acted out in this version")
UNKNOWN = ("unknown", "?", "not recorded for this version")
SIGNS = (HOLDS, BROKEN, SAME, DIFFERS, UNABLE, UNKNOWN)
_MISSING = object()
Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """`cells` is in the order of the versions; `history` has each value and the versions it was seen in."""

    key: str
    path: str
    says: str
    cells: tuple[tuple[str, str, str], ...]
    history: tuple[tuple[str, str], ...]
    relied: tuple[tuple[str, str], ...]
    probe: str

    @property
    def changed(self) -> bool:
        return len(self.history) > 1


@dataclass(frozen=True)
class Table:
    harness: str
    title: str
    summary: Json
    versions: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]

    @property
    def facts(self) -> int:
        return sum(len(group) for _, group in self.groups)


def files(root: Path) -> Iterator[tuple[Path, str]]:
    """(path, text) of all that is made from the committed records."""
    yield root / PAGE, render(root)
    for name in _harnesses():
        yield verified.place(root, name), verified.text(root, name)


def _harnesses() -> list[str]:
    return sorted(path.stem for path in rows.FOLDER.glob("*.yaml"))


def render(root: Path) -> str:
    made = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = made.from_string(TEMPLATE.read_text(encoding="utf-8"))
    script = markupsafe.Markup(SCRIPT.read_text(encoding="utf-8"))  # noqa: S704 - our own file
    tables = [table(root, name) for name in _harnesses()]
    return template.render(tables=tables, signs=SIGNS, script=script).rstrip() + "\n"


def table(root: Path, harness: str) -> Table:
    found = verified.records(root, harness)
    wanted, lasting = relied.load(root, harness), relied.lasting(root, harness)
    contract = tomllib.loads((root / relied.FILE.format(harness=harness)).read_text(encoding="utf-8"))
    probes = rows.load(harness)
    return Table(
        harness=harness,
        title=contract["title"],
        summary=verified.summary(found, lasting),
        versions=tuple(record.version for record in found),
        groups=tuple(
            (name, tuple(row for probe in members for row in _rows(harness, probe, found, wanted)))
            for name, members in itertools.groupby(probes, key=lambda probe: probe.id.split(".")[0])
        ),
    )


def _rows(harness: str, probe: Probe, found: Sequence[Record], wanted: Json) -> Iterator[Row]:
    for facet in probe.observe:
        path = f"{probe.id}:{facet}"
        ours = {one: value for one, value in wanted.items() if one == path or one.startswith(f"{path}/")}
        seen = [_value(record, probe.id, facet) for record in found]
        yield Row(
            key=f"{harness}-{path}".replace(".", "-").replace(":", "-"),
            path=path,
            says=probe.says,
            cells=tuple(
                _cell(record, ours, one, seen[-1], probe.id) for record, one in zip(found, seen, strict=True)
            ),
            history=tuple(_history([record.version for record in found], seen)),
            relied=tuple((one, _said(value)) for one, value in sorted(ours.items())),
            probe=_asked(probe),
        )


def _value(record: Record, probe: str, facet: str) -> Any:
    """The facet; the error of the probe in its stead; or nothing where the row was not recorded."""
    fact = record.facts.get(probe)
    if fact is None:
        return _MISSING
    return {"not acted out": fact["error"]} if "error" in fact else fact.get(facet, _MISSING)


def _cell(record: Record, ours: Json, seen: Any, newest: Any, probe: str) -> tuple[str, str, str]:
    if seen is _MISSING:
        return UNKNOWN
    if ours:
        return BROKEN if relied.differing(record, ours) else HOLDS
    if "error" in record.facts[probe]:
        return UNABLE
    return SAME if seen == newest else DIFFERS


def _history(versions: Sequence[str], seen: Sequence[Any]) -> Iterator[tuple[str, str]]:
    texts = [_said(value) for value in seen]
    for text, members in itertools.groupby(zip(versions, texts, strict=True), key=lambda pair: pair[1]):
        run = [version for version, _ in members]
        yield text, run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def _said(value: Any) -> str:
    return "not recorded" if value is _MISSING else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _asked(probe: Probe) -> str:
    """The row as it stands in the file of the probes, without what is usual."""
    said = probe.model_dump(exclude_defaults=True, exclude={"id", "says", "observe"}, mode="json")
    text: str = yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=100) if said else ""
    return text.strip() or "as usual: no hook, no rule, one call of write"

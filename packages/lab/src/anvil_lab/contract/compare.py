"""What differs between two records, and which of it breaks what a contract relies on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_lab.contract.record import Record

Kind = Literal["added", "removed", "changed"]
_LONGEST = 300


@dataclass(frozen=True)
class Change:
    path: str
    kind: Kind
    old: Any
    new: Any
    breaking: bool
    # The first version that differs, where the versions between were looked at.
    first: str | None = None


@dataclass(frozen=True)
class Comparison:
    harness: str
    old: str
    new: str
    changes: tuple[Change, ...]

    @property
    def breaking(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.breaking)

    def as_json(self) -> dict[str, Any]:
        """Also whether anything that is relied on has changed, for those who only want to know that."""
        return {**asdict(self), "breaking": bool(self.breaking)}

    def markdown(self, says: Mapping[str, str]) -> str:
        """The list as people read it; `says` is what each probe is about."""
        return "\n".join(
            (f"# {self.harness} {self.old} -> {self.new}", "", self._summary(), "", self.lists(says))
        )

    def lists(self, says: Mapping[str, str]) -> str:
        lines: list[str] = []
        for title, chosen in (
            ("Breaking: the contract relies on it", self.breaking),
            ("Other changes", tuple(change for change in self.changes if not change.breaking)),
        ):
            if chosen:
                lines += [f"## {title}", ""]
                for change in chosen:
                    lines += _described(change, says)
                lines.append("")
        return "\n".join(lines)

    def _summary(self) -> str:
        if not self.changes:
            return "No fact differs."
        kinds = [change.kind for change in self.changes]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("added", "removed", "changed"))
        return f"{len(kinds)} facts differ ({counts}); {len(self.breaking)} of them are breaking."


def compare(old: Record, new: Record, relied: dict[str, Any]) -> Comparison:
    """A change is breaking where the new value of a fact is not the one that the contract relies on."""
    before, after = old.leaves(), new.leaves()
    changes = []
    for path in sorted(before.keys() | after.keys()):
        kind: Kind = "added" if path not in before else "removed" if path not in after else "changed"
        seen, now = before.get(path), after.get(path)
        if kind == "changed" and seen == now and type(seen) is type(now):
            continue
        changes.append(Change(path, kind, seen, now, path in relied and now != relied[path]))
    return Comparison(new.harness, old.version, new.version, tuple(changes))


def _described(change: Change, says: Mapping[str, str]) -> list[str]:
    probe = change.path.split(":", 1)[0]
    lines = [f"- {_code(change.path)}, {change.kind}: {says.get(probe, 'a probe that is no longer there')}"]
    if change.kind != "added":
        lines.append(f"  - was {_code(change.old)}")
    if change.kind != "removed":
        lines.append(f"  - is {_code(change.new)}")
    if change.first is not None:
        lines.append(f"  - first in {_code(change.first)}")
    return lines


def _code(value: Any) -> str:
    """What a program said, in one line that no markup can leave."""
    text = " ".join(str(value).replace("`", "'").split())
    return f"`{text[:_LONGEST] or ' '}`"

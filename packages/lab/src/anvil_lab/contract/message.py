"""What a watch has to say: the text of an issue, or of a change of the pin. The first line is the title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anvil_lab.contract.compare import Comparison

Action = Literal["none", "pin", "issue"]

_ISSUE = """\
# {harness} {new}: the contract does not hold

{count} that Anvil relies on differ from {old}, which is the pinned version. Do not raise the pin before they
are mended.

See it again, on both versions:

```
nox -s contract-record -- {harness} {new} --only {rows} --out new.json
nox -s contract-record -- {harness} {old} --only {rows} --out old.json
python -m anvil_lab.contract compare old.json new.json
```

To mend it: change what Anvil emits, or list the gap where it cannot be closed, and write the new fact into
`[relies_on]`, both in `packages/shims/src/anvil_shims/{harness}/contract.toml`. Then
`nox -s update-pins -- {harness}`.

{list}
"""

_PIN = """\
# Pin {harness} {new}

Everything that Anvil relies on holds in {new} as in {old}. {others}

Made by `nox -s update-pins -- {harness}` from a record of {new}; this text by
`nox -s contract-watch -- {harness} --open-pr-body FILE`. The measured tables in `docs/reference` name the
version: `nox -s e2e-{harness} -- --full --write-docs` makes them anew.

{list}
"""


def action(found: Comparison) -> Action:
    """An issue where a fact is broken that is relied on, else a newer pin where there is one."""
    if found.breaking:
        return "issue"
    return "none" if found.new == found.old else "pin"


def body(found: Comparison, says: Mapping[str, str]) -> str:
    """Markdown, or nothing where there is nothing to say."""
    told = action(found)
    if told == "none":
        return ""
    others = len(found.changes) - len(found.breaking)
    values = {
        "harness": found.harness,
        "old": found.old,
        "new": found.new,
        "count": _counted(len(found.breaking), "fact"),
        "others": f"{_counted(others, 'other fact')} differ." if others else "No other fact differs.",
        "rows": " ".join(sorted({change.path.split(":", 1)[0] for change in found.breaking})),
        "list": found.lists(says),
    }
    return (_ISSUE if told == "issue" else _PIN).format_map(values).rstrip() + "\n"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

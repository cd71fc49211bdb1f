"""A record: the facts of one version of a harness, in a form in which equal facts are equal bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anvil_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = Path("contracts")


class Record(BaseModel):
    """`facts` is {probe id: {facet: value}}; `integrity` says which bytes were recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    harness: str
    version: str
    integrity: str
    facts: dict[str, dict[str, Any]]

    def text(self) -> str:
        dumped = self.model_dump(by_alias=True)
        return json.dumps(dumped, indent=1, sort_keys=True, ensure_ascii=True) + "\n"

    def leaves(self) -> dict[str, Any]:
        """The facts as {`probe:facet/key/key`: value}; an empty object is a leaf too."""
        return dict(_leaves(self.facts))

    def part(self, rows: Sequence[str]) -> Record:
        """The facts of these probes alone; all of them where none is named."""
        chosen = {name: fact for name, fact in self.facts.items() if name in rows}
        return self.model_copy(update={"facts": chosen}) if rows else self

    @property
    def errors(self) -> dict[str, str]:
        return {name: str(fact["error"]) for name, fact in self.facts.items() if "error" in fact}


def _leaves(facts: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for probe, facets in facts.items():
        for facet, value in facets.items():
            yield from _below(f"{probe}:{facet}", value)


def _below(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from _below(f"{path}/{key}", member)
    else:
        yield path, value


def read(path: Path) -> Record:
    try:
        return Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise LabError(f"{path} is not a contract record: {error}") from error


def place(root: Path, harness: str, version: str) -> Path:
    """Where the record of a version is committed."""
    return root / FOLDER / harness / f"{version}.json"

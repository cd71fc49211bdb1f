"""What a harness's ``install.py`` and ``doctor.py`` offer, and what they are given. They are plain modules:

``install.py`` has ``plan``, ``install`` and ``uninstall``; ``doctor.py`` has ``checks``. The protocols below
say how they are called. Whoever calls them names no harness.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anvil_shims.installing.bundle_files import Bundle
    from anvil_shims.installing.records import Record


class ActionError(Exception):
    """It cannot be done. The message says what is wrong and what to do next; ``file`` and ``line`` where."""

    def __init__(self, code: str, message: str, file: str, line: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.file, self.line = code, message, file, line


@dataclass(frozen=True)
class Surroundings:
    """Where an action runs. ``etc`` is where an administrator's settings are."""

    environ: Mapping[str, str]
    cwd: Path
    cli: Path | None = None
    etc: Path = Path("/etc")

    @property
    def home(self) -> Path:
        if not self.environ.get("HOME"):
            raise ActionError("no_home", "HOME is not set; set it to your home folder", "HOME")
        return Path(self.environ["HOME"])


@dataclass
class Outcome:
    """What an action did, one line each. ``guarded`` is false when the harness will not run the hook yet."""

    done: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    guarded: bool = True


@dataclass(frozen=True)
class Check:
    """One thing that the doctor looked at. ``state`` is a word that programs can rely on."""

    id: str
    ok: bool
    found: str
    next: str = ""
    state: str = ""


@dataclass(frozen=True)
class Verified:
    """The lowest and the newest version of a harness in which what we rely on was seen to hold.

    ``broken``: each recorded version, with the facts that are otherwise there.
    """

    minimum: str
    newest: str
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Installer(Protocol):
    """A harness's ``install.py``."""

    def config(self, where: Surroundings) -> Path:
        """The configuration file of the harness that an install changes."""

    def plan(self, bundle: Bundle, where: Surroundings) -> list[str]:
        """What ``install`` would run and write, one line each. Raises ActionError where it could not."""

    def install(self, bundle: Bundle, where: Surroundings, consent: Callable[[str], bool]) -> Outcome:
        """``consent`` is shown what the harness wants a person to trust, and gives that person's answer."""

    def uninstall(self, record: Record, where: Surroundings) -> Outcome:
        """Undo what ``install`` did, and nothing else."""


class Doctor(Protocol):
    """A harness's ``doctor.py``."""

    def checks(self, bundle: Bundle | None, where: Surroundings, verified: Verified) -> Iterator[Check]:
        """Each check as soon as it is made."""

"""Breaks an installed bundle, or the path on which its interpreter is found, in one stated way."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_lab.inside.place import read_json, write_json
from anvil_lab.inside.records import Fired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anvil_lab.inside.records import Fault, FaultKind

LOG = "fired.log"
CRASH = 'raise RuntimeError("broken on purpose")\n'
# What a forger would put in the place of the decision core: nothing is ever missing.
FORGED = """\
PASS, DENY, ASK, ASK_A_PERSON = "pass", "deny", "ask", ""
class Decision:
    verb, context, reason = PASS, None, None
def loads(text):
    import json
    return json.loads(text)
def evaluate(*_):
    return Decision()
def main(argv):
    return 10
if __name__ == "__main__":
    raise SystemExit(10)
"""


def break_bundle(fault: Fault, bundles: Iterable[Path], harness: str) -> None:
    """Apply the fault to each folder that may be read as the bundle."""
    for bundle in bundles:
        plugin, catalog = bundle / "plugin", bundle / "catalog.json"
        core, hook, hooks = (
            plugin / "hookcore.py",
            plugin / harness / "hook.py",
            plugin / harness / "hooks.json",
        )
        breaking: dict[FaultKind, Callable[[], object]] = {
            "catalog-missing": catalog.unlink,
            "catalog-cut-short": partial(_cut, catalog),
            "catalog-spliced": partial(_splice, catalog),
            "core-missing": core.unlink,
            "hook-missing": hook.unlink,
            "hook-crashing": partial(hook.write_text, CRASH, encoding="utf-8"),
            "hook-removed": partial(write_json, hooks, {"hooks": {}}),
            "hooks-missing": hooks.unlink,
            "file": partial(_rewrite, bundle / fault.file, fault.text),
            "bytecode-planted": partial(_plant, [core, hook]),
        }
        if fault.kind in breaking:  # the others are no change of a file
            breaking[fault.kind]()


def edit_hooks(fault: Fault, bundle: Path, harness: str, log: Path) -> None:
    """What must be changed before the harness reads the bundle: the hook's command, its time limit."""
    path = bundle / "plugin" / harness / "hooks.json"
    if not path.exists():
        return
    hooks = read_json(path)
    for handler in _handlers(hooks):
        if fault.kind == "command":
            text = fault.text.replace("{log}", str(log))
            handler["command"] = text.replace("{hook}", handler["command"])
        if fault.timeout is not None:
            handler["timeout"] = fault.timeout
    write_json(path, hooks)


def logged(log: Path) -> list[Fired]:
    """What a command wrote to its log: per run of the hook its event, exit code and output, a line each."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    runs = zip(*[iter(lines)] * 3, strict=True)
    return [
        Fired(json.loads(event)["tool_name"], "logged", int(code), output) for event, code, output in runs
    ]


def plant_bytecode(source: Path) -> None:
    """A forged module where an import of `source` would take it unchecked, whatever `source` holds."""
    target = Path(importlib.util.cache_from_source(str(source)))
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        forged = Path(folder, source.name)
        forged.write_text(FORGED, encoding="utf-8")
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(forged), str(target), doraise=True, invalidation_mode=mode)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _rewrite(path: Path, text: str) -> None:
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(text.replace("{original}", old), encoding="utf-8")


def _plant(sources: Iterable[Path]) -> None:
    for source in sources:
        plant_bytecode(source)


def _splice(catalog: Path) -> None:
    """As two writers leave it: each operation's line has its own first half and the next one's second."""
    head, *lines, tail = catalog.read_text(encoding="utf-8").splitlines()
    ends = [*lines[1:], lines[0]]
    mixed = [line[: len(line) // 2] + end[len(end) // 2 :] for line, end in zip(lines, ends, strict=True)]
    catalog.write_text("\n".join([head, *mixed, tail]) + "\n", encoding="utf-8")


def _handlers(value: Any) -> Iterable[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") == "command":
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _handlers(item)


class ReplaceablePython:
    """A search path on which every program of the machine is found, and `python3` as long as it is left."""

    def __init__(self, folder: Path, search: str) -> None:
        self.link = folder / "first" / "python3"
        self.programs = folder / "programs"
        for made in (self.link.parent, self.programs):
            made.mkdir(parents=True)
        found: dict[str, Path] = {}
        for part in search.split(":"):
            for program in sorted(Path(part).glob("*")) if Path(part).is_dir() else []:
                found.setdefault(program.name, program)
        self.python = found["python3"].resolve()
        self.link.symlink_to(self.python)
        for name, program in found.items():
            if not re.match(r"python|pypy", name):
                (self.programs / name).symlink_to(program)
        self.path = f"{self.link.parent}:{self.programs}"

    def hide(self, names: Iterable[str]) -> None:
        for name in names:
            (self.programs / name).unlink()

    def remove(self) -> None:
        self.link.unlink()

    def replace(self, script: str, *, executable: bool = True) -> None:
        """Put a shell script in its place, which finds the interpreter itself as `{python}`."""
        self.remove()
        self.link.write_text("#!/bin/sh\n" + script.replace("{python}", str(self.python)), encoding="utf-8")
        self.link.chmod(0o755 if executable else 0o644)

"""What a tool call pays for the hook: the whole process against an interpreter that does nothing.

``nox -s bench``. All commands take turns in one run, so that a busy machine slows all alike; the medians
of 60, by the clock and by the processor. Catalogs of 10, 1,000 and 10,000 operations, for a call that
passes and one that is denied; the emitted shell command; ``node -e 0`` beside it. Then what costs what:
the hook cut off after its steps. Prints ratios, writes them to ``dist/bench/hook.json``, warns over the
target and never fails.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agreement.agreement_rings import compile_examples, hook_command
from support.air import make_air, make_operation, make_refund

import hookcore
from anvil_core import catalog

ROOT = Path(__file__).parents[2]
HOOK = Path(str(resources.files("anvil_shims"))) / "claude" / "hook.py"
SERVICE, SERVER, PREFIX = "shop", "plugin:anvil-shop:api", "mcp__plugin_anvil-shop_api__"
KEPT = tempfile.TemporaryDirectory()  # nothing is written into the state of whoever measures
STATE = f"{KEPT.name}/shop-0123456789ab"
SIZES = (10, 1_000, 10_000)
TIMES, TARGET = 60, 2.0
BARE = "python3 -c pass"


@dataclass(frozen=True)
class Command:
    """What is measured. It must end with ``code``, and print something or not: else it is something else."""

    argv: list[str]
    stdin: bytes = b""
    code: int = 0
    environ: dict[str, str] | None = None
    answers: bool = False


def event(tool: str, args: object, prefix: str = PREFIX, server: str = SERVER) -> bytes:
    said = {
        "session_id": "0b9c7f7e-8a0e-4f7e-9d43-0d6f2f0d8c55",
        "transcript_path": "/home/user/.claude/projects/shop/0b9c7f7e.jsonl",
        "cwd": "/home/user/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": prefix + tool,
        "tool_input": args,
        "tool_use_id": "toolu_01",
        "mcp_server": {"name": server, "source": "plugin"},
    }
    return json.dumps(said).encode()


def make_bundle(folder: Path, size: int, hook: str | None = None) -> Path:
    """What the hook reads, with a catalog of this size; ``hook`` is another source for it."""
    (folder / "plugin" / "claude").mkdir(parents=True)
    script = folder / "plugin" / "claude" / "hook.py"
    script.write_text(hook or HOOK.read_text(encoding="utf-8"), encoding="utf-8")
    shutil.copy(hookcore.__file__, folder / "plugin" / "hookcore.py")
    operations = [
        make_refund(f"op_{number:05d}") if number % 2 else make_operation(f"op_{number:05d}")
        for number in range(size)
    ]
    (folder / "catalog.json").write_bytes(catalog.write(make_air(*operations), {"claude": [PREFIX]}))
    return script


def hook_process(python: str, script: Path) -> list[str]:
    return [python, "-I", "-S", "-B", str(script), "claude", SERVICE, SERVER, STATE]


def by_size(python: str, parent: Path) -> dict[str, Command]:
    """A call that passes and one that is denied, at each size, in the middle of the catalog."""
    made = {}
    for size in SIZES:
        script = make_bundle(parent / str(size), size)
        argv, middle = hook_process(python, script), size // 4 * 2
        passing, denied = (
            event(f"op_{middle:05d}", {"id": "4711"}),
            event(f"op_{middle + 1:05d}", {"id": "4711"}),
        )
        made[f"hook, {size} operations, pass"] = Command(argv, passing, 10)
        made[f"hook, {size} operations, deny"] = Command(argv, denied, 10, answers=True)
    return made


def emitted(python: str, parent: Path) -> dict[str, Command]:
    """The command line of a compiled bundle, through sh; and a shell that starts the interpreter alone."""
    folder = compile_examples(parent, ("payments",))["payments"]
    command, prefix = hook_command(folder)
    command = re.sub(r" payments-[0-9a-f]{12}\)", f" {KEPT.name}/emitted)", command)
    (parent / "bin").mkdir()
    (parent / "bin" / "python3").symlink_to(python)
    environ = {"PATH": f"{parent / 'bin'}{os.pathsep}{os.defpath}", "CLAUDE_PLUGIN_ROOT": str(folder)}
    denied = event("no_such_operation", {"id": "4711"}, prefix, "plugin:anvil-payments:api")
    bare = ["sh", "-c", "python3 -I -S -c pass; exit $?"]
    return {
        "sh, python3 -c pass": Command(bare, environ=environ),
        "sh, emitted command, deny": Command(["sh", "-c", command], denied, environ=environ, answers=True),
    }


def steps(python: str, parent: Path) -> dict[str, Command]:
    """The hook cut off after each of its steps: the differences are what the steps cost."""
    source = HOOK.read_text(encoding="utf-8")
    cuts = {
        "step 1: hook compiled": "        core = load(",
        "step 2: core compiled": "        said = answer_to(",
    }
    made = {}
    for number, (name, line) in enumerate(cuts.items()):
        if source.count(line) != 1:
            print(f"{name} is left out: the hook has changed")
            continue
        script = make_bundle(
            parent / f"step-{number}", 10, source.replace(line, f"        return DECIDED\n{line}")
        )
        made[name] = Command(hook_process(python, script), event("op_00004", {}), 10)
    last = "    leave(main(sys.argv))"
    if source.count(last) == 1:
        script = make_bundle(parent / "exit", 10, source.replace(last, "    sys.exit(main(sys.argv))"))
        made["whole, but ended by sys.exit"] = Command(
            hook_process(python, script), event("op_00004", {}), 10
        )
    return made


def take_turns(commands: dict[str, Command], times: int) -> dict[str, list[tuple[float, float]]]:
    """(wall, processor) seconds of each run. Raises ValueError when one does not end as it must."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, command in commands.items():
            began, worked = time.perf_counter(), processor_seconds()
            done = subprocess.run(
                command.argv, input=command.stdin, capture_output=True, env=command.environ, check=False
            )
            seconds = time.perf_counter() - began, processor_seconds() - worked
            if (done.returncode, bool(done.stdout)) != (command.code, command.answers):
                raise ValueError(f"{name} ended with {done.returncode}: {done.stdout!r} {done.stderr!r}")
            if turn:  # the first one warms the file cache
                taken[name].append(seconds)
    return taken


def processor_seconds() -> float:
    """Of all children so far: on a busy machine steadier than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(taken: dict[str, list[tuple[float, float]]]) -> list[dict[str, object]]:
    medians = {
        name: [statistics.median(column) for column in zip(*seconds, strict=True)]
        for name, seconds in taken.items()
    }
    return [
        {
            "name": name,
            "wall_ms": round(wall * 1000, 2),
            "ratio": round(wall / medians[BARE][0], 2),
            "processor_ms": round(processor * 1000, 2),
            "processor_ratio": round(processor / medians[BARE][1], 2),
        }
        for name, (wall, processor) in medians.items()
    ]


def real_interpreter(asked: str | None) -> str:
    """The interpreter itself: neither a virtual environment's link nor a script that looks for one."""
    program = "import os, sys; print(os.path.realpath(getattr(sys, '_base_executable', sys.executable)))"
    done = subprocess.run(
        [asked or sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--python", help="another interpreter than the session's")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "bench" / "hook.json")
    chosen = parser.parse_args(argv)
    python = real_interpreter(chosen.python)
    commands = {BARE: Command([python, "-I", "-S", "-c", "pass"])}
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name).resolve()
        commands |= by_size(python, parent) | emitted(python, parent) | steps(python, parent)
        node = shutil.which("node")
        if node:
            commands["node -e 0"] = Command([node, "-e", "0"])
        else:
            print("no node here: left out")
        rows = summary(take_turns(commands, chosen.times))
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    print(f"Python {version}, {platform.machine()}, medians of {chosen.times}\n")
    print(f"{'':34}{'wall':>9}{'ratio':>7}{'processor':>13}{'ratio':>7}")
    for row in rows:
        print(
            f"{row['name']:34}{row['wall_ms']:6} ms{row['ratio']:7}"
            f"{row['processor_ms']:10} ms{row['processor_ratio']:7}"
        )
    record = {"python": version, "machine": platform.machine(), "times": chosen.times, "rows": rows}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        if str(row["name"]).startswith("hook") and float(str(row["ratio"])) > TARGET:
            print(f"WARNING: {row['name']}: {row['ratio']} times a bare start, the target is {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

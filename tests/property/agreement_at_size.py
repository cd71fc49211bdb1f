"""I2 at size: thousands of generated calls over all examples, the hook's decision against the executor's.

``nox -s property``, or ``-- --seed 7 --calls 50000``. In process: ``hookcore.evaluate`` on the emitted
catalog, the executor on the emitted contract; then a part of the calls through real hook processes and
a local HTTP API; then damaged bundles. Prints how often each code was reached, and ends with 1 on a
disagreement, on a share of passes or denials that is too small, and on a code that was seen too rarely.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from agreement.agreement_rings import (
    EXAMPLES,
    compile_examples,
    disagreements,
    hook_answers,
    hooks_of,
    in_process,
    says_what_the_core_decides,
)

import hookcore
from anvil_generator.conformance.bundle_rings import Api
from anvil_generator.conformance.generated_calls import calls, tools_of
from anvil_runtime.bundle import load
from anvil_runtime.call import call as call_by_command_line
from anvil_runtime.client import Answer
from anvil_runtime.execute import Executor
from anvil_runtime.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Callable

SEED, CALLS, PROCESSES, DAMAGED = 20261130, 15_000, 300, 120
LEAST_SHARE, LEAST_OF_A_CODE, MOST_SHOWN = 0.15, 100, 20
HERE = "http://127.0.0.1:9"  # nothing is sent there: the sender is a list
PASS = "(pass)"
# What neither ring may take for a contract. Each is done to the catalog and to the contract alike.
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "missing": lambda _data, _chance: None,
    "empty": lambda _data, _chance: b"",
    "cut": lambda data, chance: data[: chance.randrange(len(data) - 3)],
    "end lost": lambda data, _chance: data[:-3],
    "another version": lambda data, _chance: re.sub(rb'"anvil":( ?)1', rb'"anvil":\g<1>2', data, count=1),
    "another encoding": lambda data, _chance: data.decode().encode("utf-16"),
    "start lost": lambda data, chance: data[chance.randrange(1, 40) :],
}


def codes_of_decide() -> list[str]:
    """Every code that ``evaluate`` and ``decide`` can give: the rest of REFUSALS is the executor's."""
    source = Path(hookcore.__file__).read_text(encoding="utf-8").partition("def evaluate(")[2]
    return [code for code in hookcore.REFUSALS if f'"{code}"' in source]


def state_of(folder: Path) -> StateFolder:
    return StateFolder(str(folder.parent / "state"))


def agree_in_process(folder: Path, seed: int, count: int, counted: Counter[str]) -> tuple[list[str], int]:
    """(disagreements, calls that were sent) for calls decided in this process."""
    reached: list[str] = []

    def send(plan: Any, _origin: Any) -> Answer:
        reached.append(plan.url)
        return Answer(200, "OK", "application/json", b"{}")

    executor = Executor(load(folder), environ={"ANVIL_BASE_URL": HERE}, send=send, state=state_of(folder))
    made = calls(tools_of(folder), executor.bundle.air.preview, seed, count)
    decided = [in_process(folder, call) for call in made]
    counted.update(decision.code or PASS for decision in decided)
    denied = [decision.verb != hookcore.PASS for decision in decided]
    return disagreements(executor, made, denied, reached), len(reached)


def agree_by_process(folder: Path, seed: int, count: int) -> list[str]:
    """The same through each harness's hook as a process, and real HTTP; it says what the core decides."""
    found = []
    with Api() as api, tempfile.TemporaryDirectory() as scratch:
        hooks = hooks_of(folder, Path(scratch))
        for number, (name, hook) in enumerate(hooks.items()):
            executor = Executor(load(folder), environ={"ANVIL_BASE_URL": api.url}, state=state_of(folder))
            preview, many = executor.bundle.air.preview, -(-count // len(hooks))
            made = calls(tools_of(folder), preview, seed + 100 * number, many)
            answers = hook_answers(hook, made)
            denied = [verb is not None for verb, _ in answers]
            found += [f"{name}: {one}" for one in disagreements(executor, made, denied, api.reached)]
            for call, (verb, answer) in zip(made, answers, strict=True):
                decision = in_process(folder, call)
                if not says_what_the_core_decides(decision, verb, answer):
                    found.append(f"{name} says {answer!r}, the core {decision.reason!r}: {call}")
    return found


def agree_on_damage(
    folder: Path, seed: int, count: int, scratch: Path, counted: Counter[str]
) -> tuple[list[str], int]:
    """(disagreements, calls sent) on bundles that are damaged: both rings refuse every call."""
    chance, found = random.Random(seed), []
    shutil.copytree(folder, scratch)
    made = calls(tools_of(folder), load(folder).air.preview, seed, count)
    with Api() as api:
        for number, call in enumerate(made):
            name = list(DAMAGES)[number % len(DAMAGES)]
            for file in ("catalog.json", "air.json"):
                whole = (folder / file).read_bytes()
                damaged = DAMAGES[name](whole, chance)
                assert damaged != whole
                (scratch / file).unlink(missing_ok=True)
                if damaged is not None:
                    (scratch / file).write_bytes(damaged)
            decision = in_process(scratch, call)
            counted[decision.code or PASS] += 1
            args = call["args"] if isinstance(call["args"], dict) else {}
            envelope, _ = call_by_command_line(
                scratch, call["tool"], args, environ={"ANVIL_BASE_URL": api.url}
            )
            executor_code = envelope.get("error", {}).get("code")
            if (decision.code, executor_code) != ("catalog_unusable", "catalog_unusable"):
                found.append(f"{name}: the hook says {decision.code}, the executor {executor_code}: {call}")
        return found, len(api.reached)


def shown(table: dict[str, Counter[str]]) -> str:
    """How often each code was reached, for each example and over all."""
    codes = [PASS, *codes_of_decide()]
    lines = [f"{'code':28}" + "".join(f"{name:>17}" for name in table) + f"{'all':>9}"]
    for code in codes:
        numbers = [counted[code] for counted in table.values()]
        lines.append(f"{code:28}" + "".join(f"{number:17}" for number in numbers) + f"{sum(numbers):9}")
    return "\n".join(lines)


def too_little(table: dict[str, Counter[str]]) -> list[str]:
    """What was generated too rarely for the comparison to say something."""
    found = []
    for name, counted in table.items():
        share = counted[PASS] / counted.total()
        if min(share, 1 - share) < LEAST_SHARE:
            found.append(f"{name}: {share:.0%} passed; at least {LEAST_SHARE:.0%} of each are wanted")
    for code in codes_of_decide():
        reached = sum(counted[code] for counted in table.values())
        if reached < LEAST_OF_A_CODE:
            found.append(f"{code}: reached {reached} times, at least {LEAST_OF_A_CODE} are wanted")
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--calls", type=int, default=CALLS, help="over all examples, in process")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="for each example")
    parser.add_argument("--damaged", type=int, default=DAMAGED, help="for each example")
    chosen = parser.parse_args(argv)
    found: list[str] = []
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as parent:
        for name, folder in compile_examples(Path(parent)).items():
            table[name] = Counter()
            found += [f"{name}: {one}" for one in compare(name, folder, chosen, table[name])]
    print(f"\nseed {chosen.seed}\n{shown(table)}\n")
    found += too_little(table)
    print("\n".join(found[:MOST_SHOWN]) if found else "Both rings agree on every call.")
    if len(found) > MOST_SHOWN:
        print(f"and {len(found) - MOST_SHOWN} more")
    return 1 if found else 0


def compare(name: str, folder: Path, chosen: argparse.Namespace, counted: Counter[str]) -> list[str]:
    """One example in all three ways: the disagreements."""
    began = time.monotonic()
    count = -(-chosen.calls // len(EXAMPLES))
    found, sent = agree_in_process(folder, chosen.seed, count, counted)
    share = counted[PASS] / counted.total()
    print(
        f"{name}: {count} calls in process, {share:.0%} passed, {1 - share:.0%} denied, {sent} sent", end=""
    )
    in_process_took = time.monotonic() - began
    found += agree_by_process(folder, chosen.seed + 1, chosen.processes)
    by_process_took = time.monotonic() - began - in_process_took
    more, leaked = agree_on_damage(
        folder, chosen.seed + 2, chosen.damaged, folder.parent / f"damaged-{name}", counted
    )
    found += [*more, *([f"a damaged bundle sent {leaked} calls"] if leaked else [])]
    print(
        f" ({in_process_took:.0f} s); {chosen.processes} through hook processes ({by_process_took:.0f} s); "
        f"{chosen.damaged} on damaged bundles"
    )
    return found


if __name__ == "__main__":
    sys.exit(main())

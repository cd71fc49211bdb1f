"""Compares what was expected of a run with what was seen, in words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anvil_lab.inside.answers import YES_TO_ALL

if TYPE_CHECKING:
    from anvil_lab.inside.records import Request, Result, Told
    from anvil_lab.scenario import Expected, ExpectedRequest, Outcome, Setting, Step, Trial


def outcome(told: Told) -> Outcome:
    if not told.answered:
        return "stopped"
    return "refused" if told.is_error else "ran"


def problems(trial: Trial, result: Result) -> list[str]:
    """Every difference, or nothing."""
    found = [] if result.error is None else [result.error]
    found += [f"the harness asked for {path}" for path in result.unexpected]
    found += _of_dialogs(trial.setting, result.dialogs)
    if len(result.told) != len(trial.steps):
        return [*found, f"{len(trial.steps)} calls in the script, {len(result.told)} in the result"]
    for index, (step, told) in enumerate(zip(trial.steps, result.told, strict=True)):
        during = [request for request in result.requests if _belongs(trial, index, request)]
        found += [f"call {index} ({told.name}): {words}" for words in _of_call(step, told, during)]
    stray = [request for request in result.requests if not 0 <= request.call < len(trial.steps)]
    found += [f"a request outside every call: {request.method} {request.path}" for request in stray]
    return found


def _belongs(trial: Trial, index: int, request: Request) -> bool:
    """Whether a request is a call's: of calls made together, the one that it looks like."""
    if not trial.setting.together:
        return request.call == index
    wanted = trial.steps[index].args
    return bool(wanted.get("body") == request.body)


def unfolded(screen: str) -> str:
    """The words of a screen in one line, as they were before the terminal broke them."""
    return re.sub(r"\s+", " ", re.sub(r"^[\s│|]*", "", screen, flags=re.MULTILINE))


def _of_dialogs(setting: Setting, dialogs: list[str]) -> list[str]:
    asked, found = setting.person or [], []
    if asked[-1:] != [YES_TO_ALL] and len(dialogs) != len(asked):
        found.append(f"{len(asked)} dialogs were expected, {len(dialogs)} were seen")
    seen = unfolded("\n".join(dialogs))
    return found + [f"no dialog shows {words!r}: {seen}" for words in setting.shows if words not in seen]


def _of_call(step: Step, told: Told, requests: list[Request]) -> list[str]:
    expect, found = step.expect, []
    if outcome(told) != expect.outcome:
        found.append(f"expected {expect.outcome}, it was {outcome(told)}: {_short(told.text)}")
    if expect.by is not None and told.refused_by != expect.by:
        found.append(
            f"expected a refusal by the {expect.by}, it was by {told.refused_by}: {_short(told.text)}"
        )
    found += [
        f"the text lacks {words!r}: {_short(told.text)}" for words in expect.text if words not in told.text
    ]
    found += [f"the text holds {words!r}" for words in expect.lacks if words in told.text]
    if expect.silent and told.extra:
        found.append(f"a hook said something: {_short(' '.join(told.extra))}")
    return found + _of_requests(expect, requests)


def _of_requests(expect: Expected, requests: list[Request]) -> list[str]:
    if len(requests) != len(expect.requests):
        seen = ", ".join(f"{request.method} {request.path}" for request in requests) or "none"
        return [f"expected {len(expect.requests)} requests at the API, there were {len(requests)}: {seen}"]
    found = []
    for wanted, request in zip(expect.requests, requests, strict=True):
        found += [
            f"request {request.method} {request.path}: {words}" for words in _differences(wanted, request)
        ]
    return found


def _differences(wanted: ExpectedRequest, request: Request) -> list[str]:
    found = []
    if (wanted.method, wanted.path) != (request.method, request.path):
        found.append(f"expected {wanted.method} {wanted.path}")
    if wanted.query is not None and wanted.query != request.query:
        found.append(f"expected the query {wanted.query}, it was {request.query}")
    for name, value in wanted.headers.items():
        if request.headers.get(name.lower()) != value:
            found.append(f"expected {name}: {value}, it was {request.headers.get(name.lower())!r}")
    if wanted.asks_for_body() and _canonical(wanted.body) != _canonical(request.body):
        found.append(f"expected the body {_canonical(wanted.body)}, it was {_canonical(request.body)}")
    return found


def _canonical(value: Any) -> str:
    """As JSON, so that `true` is not taken for 1."""
    return json.dumps(value, sort_keys=True)


def _short(text: str, limit: int = 600) -> str:
    return text if len(text) <= limit else text[:limit] + "…"

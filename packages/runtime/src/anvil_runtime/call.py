"""One call for the command line: the same gates, envelope and words as over MCP."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_core.tools import input_schema, preview_schema
from anvil_runtime import client
from anvil_runtime.arguments import schema_at, type_text
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.execute import Executor, Outcome, execute
from anvil_runtime.refusals import FAILURES, envelope, refuse
from anvil_runtime.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anvil_core.air import JsonSchema, Operation
    from anvil_runtime.bundle import Bundle

OK, FAILED, USAGE, REFUSED = 0, 1, 2, 3


class ArgumentFormError(ValueError):
    """A command-line argument that cannot be read; the text says which, and how to write it."""


@dataclass(frozen=True)
class Wish:
    """What a command line asks for. ``args_text``: JSON, or ``@FILE``, or ``@-`` for standard input."""

    operation: str
    pairs: Sequence[str] = ()
    args_text: str | None = None
    dry_run: bool = False


def call(
    folder: Path,
    operation: str,
    args: Mapping[str, Any],
    *,
    environ: Mapping[str, str] | None = None,
    state: Path | None = None,
) -> tuple[dict[str, Any], int]:
    """(envelope, exit code) of one call; ``operation`` is a tool's name or an operation's id."""
    try:
        bundle = load(folder)
    except BundleError as error:
        return unusable(operation, error), FAILED
    outcome = execute(executor_of(bundle, environ, state), tool_name(bundle, operation), dict(args))
    return outcome.envelope, exit_code(outcome)


def call_as_wished(folder: Path, wish: Wish, state: Path | None = None) -> tuple[dict[str, Any], int]:
    """The same for what a person wrote. Raises ArgumentFormError."""
    try:
        bundle = load(folder)
    except BundleError as error:
        return unusable(wish.operation, error), FAILED
    name = tool_name(bundle, wish.operation)
    operation = bundle.by_name.get(name)
    args = read_arguments(schema_of(bundle, name), wish.pairs, wish.args_text)
    if wish.dry_run and operation is not None:
        name, args = as_dry_run(bundle, operation, args)
    outcome = execute(executor_of(bundle, None, state), name, args)
    said = dict(outcome.envelope)
    if outcome.refusal and outcome.refusal.code == "unknown_operation":
        said["near"] = near(bundle, wish.operation)
    return said, exit_code(outcome)


def executor_of(bundle: Bundle, environ: Mapping[str, str] | None, state: Path | None) -> Executor:
    made = Executor(bundle, state=StateFolder(str(state)) if state else None)
    made = made if environ is None else replace(made, environ=environ)
    return replace(made, send=partial(client.send, spill=made.spill))


def unusable(operation: str, error: BundleError) -> dict[str, Any]:
    return envelope(refuse("catalog_unusable", operation, detail=error.problem))


def near(bundle: Bundle, wanted: str) -> list[str]:
    """The names of approved operations that resemble what was written, the nearest first."""
    ids = {operation.id: operation.name for operation in bundle.served}
    known = [*ids, *ids.values(), *([bundle.air.preview] if bundle.air.preview else [])]
    found = difflib.get_close_matches(wanted.lower().replace("-", "_"), known, n=5, cutoff=0.5)
    return list(dict.fromkeys(ids.get(name, name) for name in found))


def as_dry_run(bundle: Bundle, operation: Operation, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(tool, arguments) that show the request: with the operation's own argument, or by the preview tool."""
    own = operation.controls.dry_run
    if own and not operation.confirmation.human_approval:
        if args.get(own, True) is not True:
            raise ArgumentFormError(f"--dry-run and --arg {own}={args[own]} say different things")
        return operation.name, {**args, own: True}
    if bundle.air.preview is None:
        raise ArgumentFormError(f"{operation.name} has no dry run; it is a read, and changes nothing")
    return bundle.air.preview, {"operation": operation.name, "arguments": args}


def tool_name(bundle: Bundle, operation: str) -> str:
    """The tool's name for a name or an id; what is neither stays as it is, to be refused by name."""
    found = bundle.by_id.get(operation)
    return found.name if operation not in bundle.by_name and found else operation


def exit_code(outcome: Outcome) -> int:
    if outcome.refusal is None:
        return OK
    return FAILED if outcome.refusal.code in FAILURES else REFUSED


def schema_of(bundle: Bundle, name: str) -> JsonSchema:
    """The input schema of a tool; that of any object for one that there is not, to be refused by name."""
    if name == bundle.air.preview:
        return preview_schema(bundle.air)
    return input_schema(bundle.by_name[name]) if name in bundle.by_name else {"type": "object"}


def read_arguments(schema: JsonSchema, pairs: Sequence[str], args_text: str | None = None) -> dict[str, Any]:
    """Arguments from ``--args`` and ``--arg name=value`` (which wins). Raises ArgumentFormError.

    A value is text where the schema takes only text, else JSON where it reads as JSON, else text.
    """
    args = _whole(args_text) if args_text is not None else {}
    given: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ArgumentFormError(f"--arg {pair}: write it as NAME=VALUE")
        if name in given:
            raise ArgumentFormError(f"--arg {name}= is there twice; give it once")
        only_text = type_text(schema_at(schema, [name])).startswith("string")
        given[name] = text if only_text else _json_or_text(text)
    return {**args, **given}


def _whole(text: str) -> dict[str, Any]:
    """What ``--args`` gives. A name that is there twice is refused: which of them counts would be a guess."""
    place = "--args" if not text.startswith("@") else text[1:]
    if text == "@-" and sys.stdin is None:
        raise ArgumentFormError("--args @-: standard input is closed")
    try:
        if text.startswith("@"):
            text = sys.stdin.read() if text == "@-" else Path(text[1:]).read_text(encoding="utf-8")
        args = json.loads(text, object_pairs_hook=_without_doubles)
    except OSError as error:
        raise ArgumentFormError(f"--args {text}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentFormError(f"{place} is not JSON: {error}") from None
    if not isinstance(args, dict):
        raise ArgumentFormError(f'{place} must be an object, for example {{"id": "4711"}}')
    return args


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{double}" is there twice in one object')
    return made


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return text

"""One call for the command line: the same gates, envelope and words as over MCP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anvil_core.tools import input_schema
from anvil_runtime.arguments import schema_at, type_text
from anvil_runtime.bundle import BundleError, load
from anvil_runtime.execute import Executor, Outcome, execute
from anvil_runtime.refusals import FAILURES, envelope, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anvil_core.air import Operation
    from anvil_runtime.bundle import Bundle

OK, FAILED, REFUSED = 0, 1, 3


class ArgumentFormError(ValueError):
    """A command-line argument that cannot be read; the text says which, and how to write it."""


def call(
    folder: Path, operation: str, args: Mapping[str, Any], *, environ: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], int]:
    """(envelope, exit code) of one call; ``operation`` is a tool's name or an operation's id."""
    try:
        bundle = load(folder)
    except BundleError as error:
        return envelope(refuse("catalog_unusable", operation, detail=error.problem)), FAILED
    executor = Executor(bundle) if environ is None else Executor(bundle, environ=environ)
    outcome = execute(executor, tool_name(bundle, operation), dict(args))
    return outcome.envelope, exit_code(outcome)


def tool_name(bundle: Bundle, operation: str) -> str:
    """The tool's name for a name or an id; what is neither stays as it is, to be refused by name."""
    found = bundle.by_id.get(operation)
    return found.name if operation not in bundle.by_name and found else operation


def exit_code(outcome: Outcome) -> int:
    if outcome.refusal is None:
        return OK
    return FAILED if outcome.refusal.code in FAILURES else REFUSED


def read_arguments(
    operation: Operation, pairs: Sequence[str], json_text: str | None = None
) -> dict[str, Any]:
    """Arguments from ``--json`` and ``--arg name=value`` (which wins). Raises ArgumentFormError.

    A value is text where the schema takes only text, else JSON where it reads as JSON, else text.
    """
    args: dict[str, Any] = {}
    if json_text is not None:
        try:
            args = json.loads(json_text)
        except ValueError as error:
            raise ArgumentFormError(f"--json is not JSON: {error}") from None
        if not isinstance(args, dict):
            raise ArgumentFormError('--json must be an object, for example {"id": "4711"}')
    schema = input_schema(operation)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ArgumentFormError(f"--arg {pair}: write it as NAME=VALUE")
        args[name] = (
            text if type_text(schema_at(schema, [name])).startswith("string") else _json_or_text(text)
        )
    return args


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

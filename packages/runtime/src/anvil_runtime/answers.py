"""What the API answered, in the envelope that the tool's output schema promises.

``{"data": ...}`` when the answer conforms to the contract, ``{"raw": ..., "violations": [...]}`` when
it does not: a wrong upstream never becomes a server error, and never passes as what it is not.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anvil_core.media_types import is_json, is_text
from anvil_runtime.arguments import path_text
from anvil_runtime.refusals import Refusal, refuse

if TYPE_CHECKING:
    from anvil_core.air import JsonSchema, Operation
    from anvil_runtime.arguments import Validators
    from anvil_runtime.client import Answer
    from anvil_runtime.spill import Spilled

MOST_VIOLATIONS = 10
LONGEST_VIOLATION = 300
LONGEST_PROBLEM = 300
LONGEST_ERROR_BODY = 4_000
DEEPEST = 100
"""Levels of an answer: the serialiser takes 255 of the whole message, and readers less."""
PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def output_schema(operation: Operation) -> JsonSchema:
    """The output schema of the tool: an answer, a wrong answer, or the plan of a dry run."""
    data = dict(operation.output.json_schema or {})
    definitions = data.pop("$defs", None)
    schema: JsonSchema = {
        "type": "object",
        "properties": {
            "data": data,
            "raw": {"description": "The API's answer where it is not what the contract describes."},
            "violations": {"type": "array", "items": {"type": "string"}},
            "file": {
                "type": "object",
                "description": "Where an answer is that is too large to be passed on.",
            },
            "replayed": {"const": True, "description": "This is the first answer to the same call."},
            "request": {"type": "object"},
            "sends": {"const": False},
            "then": {"type": "string"},
        },
        "additionalProperties": False,
    }
    return {**schema, "$defs": definitions} if definitions else schema


def plan_schema() -> JsonSchema:
    """The output schema of the preview tool."""
    return {
        "type": "object",
        "properties": {"request": {"type": "object"}, "sends": {"const": False}, "then": {"type": "string"}},
        "required": ["request", "sends", "then"],
        "additionalProperties": False,
    }


def success(operation: Operation, answer: Answer, validators: Validators) -> dict[str, Any]:
    """The envelope of a 2xx answer."""
    if answer.spilled:
        return _in_a_file(answer, answer.spilled)
    value, violations = _value(answer)
    if answer.cut:
        violations.append(f"The answer is cut after {len(answer.body)} bytes. The call was carried out.")
    if not violations:
        violations = _violations(operation, answer, value, validators)
    return {"raw": value, "violations": violations} if violations else {"data": value}


def replayed(envelope: dict[str, Any]) -> dict[str, Any]:
    """The first answer once more, which says so; its file may have gone meanwhile."""
    path = envelope.get("file", {}).get("path")
    if path is None or Path(path).exists():
        return {**envelope, "replayed": True}
    rest = {name: value for name, value in envelope.items() if name != "file"}
    said = f"The file {path} of the first answer is no longer there."
    return {**rest, "violations": [*envelope.get("violations", []), said], "replayed": True}


def _in_a_file(answer: Answer, spilled: Spilled) -> dict[str, Any]:
    file = {
        "path": spilled.path,
        "bytes": spilled.size,
        "sha256": spilled.sha256,
        "media_type": answer.media_type,
    }
    said = f"The answer is too large to be passed on: {spilled.size} bytes are in the file."
    said += " It went on, and is cut there. The call was carried out." if answer.cut else ""
    return {"file": file, "violations": [said]}


def _value(answer: Answer) -> tuple[Any, list[str]]:
    """The answer as a JSON value, with what is wrong with its form."""
    if not answer.body:
        return None, []
    if is_json(answer.media_type) or not answer.media_type:
        try:
            value = json.loads(answer.body, parse_constant=_no_constant)
        except RecursionError:
            return _as_text(answer.body), [TOO_DEEP]
        except ValueError:
            said = ["The answer is not JSON."] if answer.media_type else []
            return _as_text(answer.body), said
        unfit = _unfit(value)
        return (_as_text(answer.body), [unfit]) if unfit else (value, [])
    if is_text(answer.media_type):
        return _as_text(answer.body), []
    return base64.b64encode(answer.body).decode("ascii"), []


TOO_DEEP = f"The answer is nested deeper than {DEEPEST} levels; it is kept as text."


def _unfit(value: object) -> str | None:
    """Why a value that was JSON cannot be passed on as JSON, or None. Its text always can."""
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for item in level:
            if isinstance(item, str) and not _is_unicode(item):
                return "The answer holds half a surrogate pair, which is no text; it is kept as it came."
            if isinstance(item, int | float) and not abs(item) <= sys.float_info.max:
                return "The answer holds a number that is too large for JSON readers; it is kept as text."
            if isinstance(item, dict):
                below += [*item, *item.values()]
            elif isinstance(item, list):
                below += item
        if not below:
            return None
        level = below
    return TOO_DEEP


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _as_text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _violations(operation: Operation, answer: Answer, value: object, validators: Validators) -> list[str]:
    schema = operation.output.json_schema
    if schema is None:
        return []
    if not answer.body:
        return ["The answer is empty."]
    try:
        validator = validators.get("output:" + operation.name, schema)
        errors = list(validator.iter_errors(value))
    except Exception as error:  # noqa: BLE001  # the call was carried out; a bad schema must not hide its answer
        return [f"The contract's schema of the answer cannot be used: {error}"[:LONGEST_VIOLATION]]
    said = [
        f"{path_text(list(error.instance_path))}: {error.message}"[:LONGEST_VIOLATION] for error in errors
    ]
    return said[:MOST_VIOLATIONS]


def failure(operation: Operation, answer: Answer, *, idempotent: bool, uncertain: bool = False) -> Refusal:
    """The refusal for an answer that is not 2xx.

    ``idempotent``: the same call again changes nothing more; ``uncertain``: an earlier try of this call may
    have been carried out.
    """
    said = f"it answered {answer.status} {answer.reason[:80]}".rstrip()
    if 300 <= answer.status < 400:
        said += f", a redirect to {(answer.location or 'nowhere')[:200]!r}; redirects are never followed"
    # The API says that it did nothing, and no proxy that it gave up on it.
    refused = 400 <= answer.status < 500 and answer.status not in (408, 499)
    safe = idempotent or (refused and not uncertain)
    body, _ = _value(replace(answer, body=answer.body[:LONGEST_ERROR_BODY]))
    violations: list[str] = []
    if len(answer.body) <= LONGEST_ERROR_BODY:
        body, violations = _value(answer)
    said += _problem_words(answer)
    return replace(
        refuse("upstream_error", operation.name, detail=said + "."),
        retryable=safe and answer.status in PASSING_STATUSES,
        safe_to_retry=safe,
        upstream={"status": answer.status, "body": body} | ({"violations": violations} if violations else {}),
    )


def _problem_words(answer: Answer) -> str:
    """Title and detail of a problem document (RFC 9457), in the message itself."""
    if not answer.media_type.lower().startswith("application/problem+json"):
        return ""
    body, _ = _value(answer)
    if not isinstance(body, dict):
        return ""
    said = [body[part] for part in ("title", "detail") if isinstance(body.get(part), str)]
    return "".join(f": {' '.join(text.split())[:LONGEST_PROBLEM].rstrip('.')}" for text in said)

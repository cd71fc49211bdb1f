"""The exact request of a call, made from the contract and the arguments, before any is sent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from anvil_core.media_types import is_json, is_text
from anvil_core.request_headers import SET_BY_THE_EXECUTOR
from anvil_runtime import styles
from anvil_runtime.bodies import can_hold_key, encode_body
from anvil_runtime.gates import key_fits
from anvil_runtime.headers import check_cookie, check_header, check_query_name
from anvil_runtime.styles import UnsendableError

if TYPE_CHECKING:
    from anvil_core.air import Operation, Parameter
    from anvil_runtime.origin import Target

USER_AGENT = "anvil-runtime"
LONGEST_SHOWN_BODY = 20_000
_PLACE = re.compile(r"\{([^{}]*)\}")


class ContractError(Exception):
    """The contract asks for what no request can hold; the text says what. Nothing is sent."""


@dataclass(frozen=True)
class Plan:
    """A request. ``path`` is encoded and starts with "/"; ``query`` is encoded, without "?"."""

    method: str
    base: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    media_type: str | None

    @property
    def url(self) -> str:
        return self.base + self.path + (f"?{self.query}" if self.query else "")


def make_plan(operation: Operation, args: dict[str, Any], target: Target) -> Plan:
    """The request that these arguments mean.

    Raises UnsendableError for a value that has no place in it, ContractError for a key without a carrier.
    """
    args = {
        name: value for name, value in args.items() if value is not None or _body_argument(operation) == name
    }
    key = sendable_key(operation, args)
    media_type, body = _body(operation, args, key)
    plan = Plan(
        method=operation.source.method.upper(),
        base=str(target.origin),
        path=_path(operation, args, target.base_path, key),
        query=_query(operation, args, key),
        headers=_headers(operation, args, media_type, key),
        body=body,
        media_type=media_type,
    )
    if key is not None and not _carries(operation, plan, key):
        place = f"{operation.idempotency.carrier} {operation.idempotency.key}"
        raise ContractError(f"the contract has the idempotency key in the {place}, which cannot carry it")
    return plan


def shown(plan: Plan, longest_body: int = LONGEST_SHOWN_BODY) -> dict[str, Any]:
    """The plan for a reader. There are no credentials in it: they join a request after its plan is made."""
    body = _shown_body(plan, longest_body)
    return {"method": plan.method, "url": plan.url, "headers": dict(plan.headers), "body": body}


def _shown_body(plan: Plan, longest: int) -> Any:
    if plan.body is None or plan.media_type is None:
        return None
    if len(plan.body) > longest:
        return f"({len(plan.body)} bytes of {plan.media_type})"
    if is_json(plan.media_type):
        return json.loads(plan.body)
    if is_text(plan.media_type) or plan.body.isascii():
        return plan.body.decode("utf-8")
    return f"({len(plan.body)} bytes of {plan.media_type})"


def sendable_key(operation: Operation, args: dict[str, Any]) -> str | None:
    """The idempotency key where one is given and has its form: no other ever gets near the request."""
    name, form = operation.controls.idempotency_key, operation.idempotency.form
    value = args.get(name) if name else None
    return value if isinstance(value, str) and form is not None and key_fits(value, form) else None


def _body_argument(operation: Operation) -> str | None:
    return operation.input.body.argument if operation.input.body else None


def _given(operation: Operation, args: dict[str, Any], location: str) -> list[tuple[Parameter, Any]]:
    parameters = [parameter for parameter in operation.input.parameters if parameter.location == location]
    return [(parameter, args[parameter.argument]) for parameter in parameters if parameter.argument in args]


def _constants(operation: Operation, location: str) -> list[tuple[str, str]]:
    return [
        (constant.name, constant.value)
        for constant in operation.input.constants
        if constant.location == location
    ]


def _carried(operation: Operation, location: str, key: str | None) -> list[tuple[str, str]]:
    """The idempotency key, where this location carries it."""
    carries = operation.idempotency.carrier == location and operation.idempotency.key is not None
    return [(str(operation.idempotency.key), key)] if carries and key is not None else []


def _carries(operation: Operation, plan: Plan, key: str) -> bool:
    """Whether the key is in the request: a gate let the call pass for its sake, and a retry relies on it."""
    name, carrier = str(operation.idempotency.key), operation.idempotency.carrier
    if carrier == "header":
        return (name, key) in plan.headers
    if carrier == "query":
        return f"{styles.encode(name)}={styles.encode(key)}" in plan.query.split("&")
    if carrier == "path":
        return name in _PLACE.findall(operation.source.sent_path)
    return carrier == "body" and plan.body is not None


def _path(operation: Operation, args: dict[str, Any], base_path: str, key: str | None) -> str:
    template = operation.source.sent_path
    if "?" in template or "#" in template:
        raise UnsendableError(
            "(path)", f"the contract's path {template} holds a query, which Anvil does not send."
        )
    values = {name: styles.encode(value) for name, value in _constants(operation, "path")}
    arguments = {one.name: one.argument for one in operation.input.parameters if one.location == "path"}
    for parameter, value in _given(operation, args, "path"):
        _check_path_value(parameter, value)
        values[parameter.name] = styles.path_text(parameter, value)
    if operation.idempotency.carrier == "path" and operation.idempotency.key is not None:
        name = operation.idempotency.key
        arguments[name] = str(operation.controls.idempotency_key)
        if key is not None:
            values[name] = styles.encode(key)
        elif operation.idempotency.mode == "required":
            values[name] = "{" + name + "}"  # shown by a dry run, and refused by the gate before it is sent
    segments = [_segment(segment, values, arguments) for segment in template.split("/")]
    return quote(base_path, safe="/%:@!$&'()*+,;=~") + "/".join(segments)


def _segment(template: str, values: dict[str, str], arguments: dict[str, str]) -> str:
    """One segment of the path, filled in. What a caller gives can neither empty it nor make it ``..``."""
    names = [str(name) for name in _PLACE.findall(template)]
    fixed = [quote(part, safe="%:@!$&'()*+,;=~") for part in _PLACE.split(template)[::2]]
    for name in names:
        if name not in values:
            raise UnsendableError(arguments.get(name, name), "must have a value: it is part of the path.")
    filled = [values[name] for name in names]
    segment = "".join(part for pair in zip(fixed, [*filled, ""], strict=True) for part in pair)
    if names and (not segment or _has_dots(unquote(segment))):
        raise UnsendableError(
            arguments.get(names[0], names[0]), 'must not be empty, "." or "..": it is part of the path.'
        )
    return segment


def _has_dots(text: str) -> bool:
    """A part "." or "..", also with parameters behind a ";", which some servers drop first."""
    return any(part.partition(";")[0] in {".", ".."} for part in re.split(r"[/\\]", text))


def _check_path_value(parameter: Parameter, value: object) -> None:
    """Refuse what a server that decodes ``%2F`` early would read as a way up the path."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            _check_path_value(parameter, item)
    elif isinstance(value, str) and _has_dots(value):
        raise UnsendableError(parameter.argument, 'must not hold a part "." or "..": it is part of the path.')


def _query(operation: Operation, args: dict[str, Any], key: str | None) -> str:
    fixed = [*_constants(operation, "query"), *_carried(operation, "query", key)]
    pairs = [(styles.encode(name), styles.encode(value)) for name, value in fixed]
    taken = {name for name, _ in pairs}
    for parameter, value in _given(operation, args, "query"):
        _check_free_keys(operation, parameter, value)
        own = styles.query_pairs(parameter, value)
        if taken & {name for name, _ in own}:
            raise UnsendableError(parameter.argument, "names a query parameter that is already set.")
        for name, _ in own:
            check_query_name(parameter.argument, unquote(name))
        taken |= {name for name, _ in own}
        pairs.extend(own)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _check_free_keys(operation: Operation, parameter: Parameter, value: object) -> None:
    """The keys of an exploded object are names in the query: none is that of something else there."""
    exploded = parameter.style == "form" and parameter.explode and not parameter.media_type
    if not (exploded and isinstance(value, dict)):
        return
    others = {one.name for one in operation.input.parameters if one.location == "query"} - {parameter.name}
    others |= {name for name, _ in _constants(operation, "query")}
    if operation.idempotency.carrier == "query":
        others.add(str(operation.idempotency.key))
    taken = {name.lower() for name in others} & {name.lower() for name in value}
    if taken:
        said = ", ".join(sorted(taken))
        raise UnsendableError(parameter.argument, f"must not set {said}, a parameter of its own.")


def _headers(
    operation: Operation, args: dict[str, Any], media_type: str | None, key: str | None
) -> tuple[tuple[str, str], ...]:
    headers = {
        "Accept": operation.output.media_type or "*/*",
        "Accept-Encoding": "identity",
    }
    if media_type:
        headers["Content-Type"] = media_type
    written = [(parameter.argument, parameter.name, styles.header_text(parameter, value))
               for parameter, value in _given(operation, args, "header")]  # fmt: skip
    asked = [(argument, name, value) for argument, name, value in written if value is not None]
    asked += [("(contract)", name, value) for name, value in _constants(operation, "header")]
    asked += [(str(operation.controls.idempotency_key), *pair) for pair in _carried(operation, "header", key)]
    for argument, name, value in asked:
        if name.lower() in SET_BY_THE_EXECUTOR:
            continue
        check_header(argument, name, value, {taken.lower() for taken in headers})
        headers[name] = value
    cookies = _cookies(operation, args)
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    if "user-agent" not in {name.lower() for name in headers}:
        headers["User-Agent"] = USER_AGENT
    return tuple(headers.items())


def _cookies(operation: Operation, args: dict[str, Any]) -> list[tuple[str, str]]:
    """In order; a name may come several times from one parameter, and from no other."""
    asked = [("(contract)", [pair]) for pair in _constants(operation, "cookie")]
    asked += [(parameter.argument, styles.cookie_pairs(parameter, value))
              for parameter, value in _given(operation, args, "cookie")]  # fmt: skip
    pairs: list[tuple[str, str]] = []
    for argument, own in asked:
        taken = {name for name, _ in pairs}
        for name, value in own:
            check_cookie(argument, name, value, taken)
        pairs.extend(own)
    return pairs


def _body(operation: Operation, args: dict[str, Any], key: str | None) -> tuple[str | None, bytes | None]:
    body, carried = operation.input.body, _carried(operation, "body", key)
    if body is None or (body.argument not in args and not carried):
        return None, None
    value = args.get(body.argument, {})
    if carried:
        value = _with_key(body.argument, body.media_type, value, *carried[0])
    return encode_body(body, value)


def _with_key(argument: str, media_type: str, value: object, name: str, key: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not can_hold_key(media_type):
        raise UnsendableError(argument, "must be an object, since it carries the idempotency key.")
    if name in value:
        raise UnsendableError(argument, f"must not hold {name} itself: the idempotency key is put there.")
    return {**value, name: key}

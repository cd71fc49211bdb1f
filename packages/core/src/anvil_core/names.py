"""Tool names: readable, unique, short enough for every harness, and the same whatever the order.

A name has no capital, no dash and no double underscore, so that no harness changes it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOOL_NAME = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"
SERVICE_ID = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
LONGEST_SERVICE_ID = 16
HASH_LENGTH = 6
LONG_HASH_LENGTH = 10
LONGEST_WHOLE_NAME = 63
RESERVED = "preview"
STATE_HASH_LENGTH = 12

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ABBREVIATIONS = {
    "account": "acct",
    "application": "app",
    "authentication": "authn",
    "authorization": "authz",
    "balance": "bal",
    "certificate": "cert",
    "company": "co",
    "configuration": "config",
    "configurations": "configs",
    "create": "new",
    "delete": "del",
    "description": "desc",
    "document": "doc",
    "documents": "docs",
    "environment": "env",
    "identifier": "id",
    "information": "info",
    "management": "mgmt",
    "merchant": "mch",
    "message": "msg",
    "messages": "msgs",
    "notification": "notif",
    "organization": "org",
    "organizations": "orgs",
    "parameter": "param",
    "payment": "pay",
    "permission": "perm",
    "permissions": "perms",
    "reference": "ref",
    "repository": "repo",
    "repositories": "repos",
    "request": "req",
    "response": "resp",
    "setting": "set",
    "settings": "sets",
    "subscription": "sub",
    "subscriptions": "subs",
    "transaction": "txn",
    "transactions": "txns",
    "verification": "verif",
}


def state_name(service_id: str, origin: str) -> str:
    """The folder of a service's state below ``~/.local/state/anvil``: it outlives approvals and upgrades."""
    digest = hashlib.sha256(f"{service_id}\n{origin}".encode()).hexdigest()
    return f"{service_id}-{digest[:STATE_HASH_LENGTH]}"


def words(text: str) -> list[str]:
    """The words of an identifier in lower case: ``refundPayment-v2/x`` -> refund, payment, v, 2, x."""
    return [word.lower() for word in _WORD.findall(text)]


def snake(text: str) -> str:
    """The identifier as a tool name, without limit; "" when it has no letter or digit in ASCII."""
    name = "_".join(part for run in re.split(r"[^A-Za-z0-9]+", text) for part in _split_run(run) if part)
    return f"op_{name}" if name[:1].isdigit() else name


def _split_run(run: str) -> list[str]:
    """Split one run at its capitals, keeping digits with the letters before them (``oauth2``, ``v2``)."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+", run)]


def from_method_and_path(method: str, path: str) -> str:
    """The base of a name for an operation without operationId: ``GET /users/{id}`` -> get_users_by_id."""
    parts = [method.lower()]
    for segment in path.split("/"):
        fixed = re.sub(r"\{([^}]*)\}", r"_by_\1_", segment)
        parts.append(snake(fixed).removeprefix("op_") if fixed else "")
    return snake("_".join(part for part in parts if part))


def room(prefixes: Iterable[str]) -> int:
    """Characters left for a tool name behind the longest of the harnesses' prefixes."""
    return LONGEST_WHOLE_NAME - max((len(prefix) for prefix in prefixes), default=0)


def assign(wanted: Mapping[str, str], limit: int) -> dict[str, str]:
    """Final names, unique and within ``limit`` characters, for {stable key: wanted snake name}.

    The key is what identifies the operation in the document (method and path). Each name depends on
    its own key and on whether others want the same name, never on the order they came in. Raises
    ValueError when even a hash does not fit the limit.
    """
    if limit < LONG_HASH_LENGTH + 4:
        raise ValueError(f"{limit} characters leave no room for tool names")
    shortened = {key: _fit(name, limit, key) for key, name in wanted.items()}
    taken = Counter([*shortened.values(), RESERVED])
    final = {
        key: name if taken[name] == 1 else _with_hash(name, limit, key) for key, name in shortened.items()
    }
    if len(set(final.values())) != len(final):
        # Two hashes of 24 bits met, or a hashed name met a plain one: hash every name, at full care.
        final = {
            key: _with_hash(name, limit, key, length=LONG_HASH_LENGTH) for key, name in shortened.items()
        }
    if len(set(final.values())) != len(final):
        raise ValueError("tool names collide even with a hash of 40 bits")
    return final


def _fit(name: str, limit: int, key: str) -> str:
    name = name or "op"
    if len(name) <= limit:
        return name
    short = "_".join(_ABBREVIATIONS.get(word, word) for word in name.split("_"))
    if len(short) <= limit:
        return short
    return _with_hash(short, limit, key)


def _with_hash(name: str, limit: int, key: str, length: int = HASH_LENGTH) -> str:
    tail = hashlib.sha256(key.encode()).hexdigest()[:length]
    stem = name[: limit - length - 1]
    if len(name) > len(stem) and "_" in stem:
        stem = stem.rpartition("_")[0]
    return f"{stem.rstrip('_')}_{tail}"

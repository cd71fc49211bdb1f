"""What the tool list costs: bytes as the server writes them, and about how many of a model's tokens.

Bytes are those of the tool's whole entry in the answer to ``tools/list``. Tokens are of what a harness hands
to the model: name, description and input schema, as JSON, one token for four bytes. Counted with the
tokenizers ``o200k_base`` and that of ``@anthropic-ai/tokenizer`` on 500 tools of twelve real documents, a
list took 3.7 to 4.6 bytes a token, and so the estimate is at most 8 % too low.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anvil_core.air import Air
    from anvil_core.clients import Clients

BYTES_PER_TOKEN = 4
HOW = "tokens: name, description and input schema as JSON, one for 4 bytes"


def of_served(air: Air, clients: Clients) -> dict[str, Any]:
    """The budget of what the server lists: the approved operations and the preview."""
    if not any(operation.state == "approved" for operation in air.operations):
        return _budget(())  # and nothing that lists tools is imported: most of a first compile's start
    from anvil_runtime import listing  # noqa: PLC0415

    return _budget(listing.tool_list(air, clients))


def of_all(air: Air, clients: Clients) -> dict[str, Any]:
    """The same as if every operation were approved."""
    from anvil_runtime import listing  # noqa: PLC0415

    return _budget(listing.operation_tool(operation, clients) for operation in air.operations)


def _budget(tools: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """``{"tools", "bytes", "tokens", "how", "by_tool": [{"tool", "bytes", "tokens"}]}``, sorted by name."""
    by_tool = [
        {"tool": tool["name"], "bytes": _bytes(tool), "tokens": _tokens(tool)}
        for tool in sorted(tools, key=lambda tool: str(tool["name"]))
    ]
    return {
        "tools": len(by_tool),
        "bytes": sum(one["bytes"] for one in by_tool),
        "tokens": sum(one["tokens"] for one in by_tool),
        "how": HOW,
        "by_tool": by_tool,
    }


def _tokens(tool: dict[str, Any]) -> int:
    shown = {key: tool[key] for key in ("name", "description", "inputSchema")}
    return -(-_bytes(shown) // BYTES_PER_TOKEN)


def _bytes(data: dict[str, Any]) -> int:
    """As the server writes it: compact, in UTF-8; a lone surrogate, which it cannot write, counts three."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))

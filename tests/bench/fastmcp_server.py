"""The same document served by FastMCP over stdio, for comparison: ``fastmcp_server.py DOCUMENT BASE_URL``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    client = httpx2.AsyncClient(base_url=sys.argv[2], trust_env=False)
    FastMCP.from_openapi(document, client=client, name="shop").run(transport="stdio", show_banner=False)

"""The tools of an OpenAPI document as FastMCP lists them, for comparison: ``fastmcp_listing.py DOCUMENT``."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    client = httpx2.AsyncClient(base_url="https://api.example.com", trust_env=False)
    server = FastMCP.from_openapi(document, client=client, name="api")
    print(len(asyncio.run(server.list_tools())))

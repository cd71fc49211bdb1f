"""The server of a bundle under streamable HTTP on loopback, for the conformance suite, which knows only URLs.

``serve_http.py BUNDLE STATE PORT``. A bundle itself is served over standard input and output alone; what is
tested here is ``make_server``, the same object, under the SDK's own transport.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn

from anvil_runtime.bundle import load
from anvil_runtime.execute import Executor
from anvil_runtime.server import make_server
from anvil_runtime.state import StateFolder

HOST = "127.0.0.1"


def main(bundle: str, state: str, port: str) -> None:
    """Serve until the process is ended."""
    server = make_server(Executor(load(Path(bundle)), state=StateFolder(state)))
    app = server.streamable_http_app(host=HOST)
    uvicorn.run(app, host=HOST, port=int(port), log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A local HTTP API that takes any method and path, logs it whole, and answers as it was told to."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from anvil_lab.inside.local_server import LocalServer
from anvil_lab.inside.records import Answer, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Api(LocalServer):
    """Answers `{}` with status 200 where no answer is given for the method and path."""

    def __init__(self, answers: Iterable[Answer] = (), call: Callable[[], int] = lambda: 0) -> None:
        super().__init__(_Handler)
        self.answers = {(answer.method.upper(), answer.path): answer for answer in answers}
        self.current_call = call
        self.requests: list[Request] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write per answer: many small ones wait for the other side's acknowledgement

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any method, also ones that nobody has thought of
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        api = cast("Api", self.server)
        body = self._body()
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(api.current_call(), self.command, parts.path, query, headers, body)
        with api.lock:
            api.requests.append(request)
        answer = api.answers.get((self.command, parts.path)) or Answer(self.command, parts.path, {})
        payload = b"" if answer.status == 204 else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def _body(self) -> Any:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = self._chunks()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not raw:
            return None
        try:
            return json.loads(raw)
        except ValueError:
            return raw.decode("utf-8", "replace")

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

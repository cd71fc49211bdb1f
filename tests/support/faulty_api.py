"""A local HTTP API that fails on purpose: one fault after another, each connection counted."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FINE = b'{"id": "re_1"}'


def answer(status: str, *headers: str, body: bytes = b"", length: int | None = None) -> bytes:
    """An HTTP/1.1 answer; ``length`` is what it says of its body, where that is a lie."""
    size = len(body) if length is None else length
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {size}",
        "Content-Type: application/json",
        *headers,
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


class FaultyApi:
    """Answers its requests with the faults in turn, the last one again and again, and counts them."""

    def __init__(
        self, faults: list[Callable[[socket.socket], None]], tls: ssl.SSLContext | None = None
    ) -> None:
        self.faults, self.tls, self.requests, self.connections = faults, tls, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self) -> FaultyApi:  # noqa: PYI034  # Self is new in Python 3.11
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while whole_request(connection):
                self.requests += 1
                self.faults[min(self.requests, len(self.faults)) - 1](connection)
        except OSError:  # the client has gone, or never trusted us
            pass
        finally:
            connection.close()


def whole_request(connection: socket.socket) -> bool:
    """Read one request to the end of its body; whether there was one."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return False
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return True


def says(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def resets(data: bytes) -> Callable[[socket.socket], None]:
    """Send something, then break the connection (RST, not FIN)."""

    def act(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()

    return act


def drips(data: bytes, seconds: float) -> Callable[[socket.socket], None]:
    """One byte after another."""

    def act(connection: socket.socket) -> None:
        for at in range(len(data)):
            connection.sendall(data[at : at + 1])
            time.sleep(seconds)

    return act


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's TLS with a certificate that nobody trusts."""
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context

"""An HTTP server with scripted answers, in a thread. It is the router or the API server of a test."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()
    #: That the server announces, if it is not that of the body.
    length: int | None = None


class Drop:
    """Closes the connection after the request was received."""


class Hang:
    """Never answers. The server ends such requests when it stops."""


Script = Callable[[Received], Answer | type[Drop] | type[Hang]]


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), tuple((name.replace("_", "-"), text) for name, text in headers.items()))


def refusal(reason: str, status: int) -> Answer:
    """A response of the router itself."""
    return json_answer({"detail": f"the router says {reason}"}, status, x_sandbox_reason=reason)


class FakeServer:
    def __init__(self, script: Script, context: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self._stopping = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_any(self) -> None:
                received = Received(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self._body())
                fake.received.append(received)
                answer = script(received)
                if answer is Hang:
                    fake._stopping.wait()
                if not isinstance(answer, Answer):
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer.body) if answer.length is None else answer.length))
                self.end_headers()
                self.wfile.write(answer.body)
                self.close_connection = answer.length is not None

            def _body(self) -> bytes:
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                pieces = []
                while size := int(self.rfile.readline(), 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(pieces)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_CONNECT = do_any

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def fake_server(script: Script, context: ssl.SSLContext | None = None) -> Iterator[FakeServer]:
    server = FakeServer(script, context)
    try:
        yield server
    finally:
        server.stop()


def in_turn(*answers: Answer | type[Drop] | type[Hang]) -> Script:
    """One answer after the other, and the last one for all further requests."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]

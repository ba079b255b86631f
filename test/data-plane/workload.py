"""What runs inside the sandboxes of the data plane's tests: a server that tells what reached it."""

import base64
import gzip
import hashlib
import json
import os
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PODS = "/var/tmp/pods"
COUNTS = "/var/tmp/counts"

released = threading.Event()


def append(path, line):
    """One write to the end of a file is one line, whoever else writes."""
    with open(path, "ab", buffering=0) as file:
        file.write(line.encode() + b"\n")


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().split()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_):
        pass

    def answer(self):
        self.target = self.requestline.split(" ")[1]
        route = self.target.split("?")[0]
        known = getattr(self, "on" + route.replace("/", "_"), self.tell)
        known()

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def send(self, content, status=200, headers=()):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def json(self, value):
        self.send(json.dumps(value).encode(), headers=[("Content-Type", "application/json")])

    def tell(self):
        body = self.body()
        headers = [[name.lower(), value] for name, value in self.headers.items()]
        digest = hashlib.sha256(body).hexdigest()
        self.json({"method": self.command, "target": self.target, "headers": headers, "bytes": len(body), "sha256": digest})

    def on_count(self):
        append(COUNTS, self.body().decode())
        self.json({"pid": os.getpid()})

    def on_counts(self):
        self.json({"counts": lines(COUNTS), "pods": len(set(lines(PODS)))})

    def on_cookies(self):
        self.send(b"", headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])

    def on_gzip(self):
        self.send(gzip.compress(b"packed"), headers=[("Content-Encoding", "gzip")])

    def on_redirect(self):
        self.send(b"", 302, [("Location", "http://elsewhere.example/")])

    def on_hop(self):
        self.send(b"", headers=[("Connection", "X-Hop, keep-alive"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("X-Kept", "1")])

    def on_large(self):
        self.send(b"x" * (8 << 20))

    def on_early(self):
        """Answers before the body has come, and takes in the rest: closing would take back the answer."""
        self.close_connection = True
        self.send(b"enough", 413)
        while self.connection.recv(65536):
            pass

    def on_broken(self):
        """Promises more than it sends."""
        self.send_response_only(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True

    def on_silent(self):
        """Takes the request and hangs up."""
        append(COUNTS, "silent")
        self.close_connection = True

    def on_never(self):
        """Answers when the caller has gone."""
        self.connection.recv(1)
        append(COUNTS, "gone")
        self.close_connection = True

    def on_events(self):
        """The second event comes only when somebody has seen the first."""
        self.send_response_only(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.wfile.flush()
        released.wait(30)
        released.clear()
        self.wfile.write(b"data: second\n\n")
        self.close_connection = True

    def on_release(self):
        released.set()
        self.send(b"")

    def on_socket(self):
        if self.headers.get("upgrade", "").lower() != "websocket":
            return self.send(b"want a WebSocket", 426)
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response_only(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        for protocol in filter(None, [self.headers.get("sec-websocket-protocol")]):
            self.send_header("Sec-WebSocket-Protocol", protocol)
        self.end_headers()
        self.close_connection = True
        headers = [[name.lower(), value] for name, value in self.headers.items()]
        self.write_frame(1, json.dumps({"headers": headers}).encode())
        while True:
            kind, payload = self.read_frame()
            self.write_frame(kind, payload)
            if kind == 8:
                return

    def read_frame(self):
        first, second = self.rfile.read(2)
        size = second & 127
        if size == 126:
            (size,) = struct.unpack(">H", self.rfile.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.rfile.read(8))
        mask = self.rfile.read(4)
        masked = self.rfile.read(size)
        unmasked = int.from_bytes(masked, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        return first & 15, unmasked.to_bytes(size, "big")

    def write_frame(self, kind, payload):
        size = len(payload)
        if size < 126:
            head = bytes([128 | kind, size])
        elif size < 65536:
            head = bytes([128 | kind, 126]) + struct.pack(">H", size)
        else:
            head = bytes([128 | kind, 127]) + struct.pack(">Q", size)
        self.wfile.write(head + payload)


class Server(ThreadingHTTPServer):
    # Two hundred callers at once are let in when the sandbox has come up.
    request_queue_size = 512


append(PODS, os.environ.get("POD_UID", "unknown"))
Server(("0.0.0.0", 8000), Handler).serve_forever()

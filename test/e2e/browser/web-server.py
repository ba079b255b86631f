"""A web server for inside a sandbox, of Python's own parts: one page, its notes on disk, and a WebSocket that writes them."""

import base64
import hashlib
import html
import pathlib
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# One on a volume, one in the root file system: both must be there after a sleep.
NOTES = pathlib.Path("/data/notes"), pathlib.Path("/root/notes")

PAGE = """<!doctype html>
<title>Notes</title>
<style>body {{ font: 20px sans-serif; margin: 2em }} pre {{ background: #eee; padding: 1em }}</style>
<h1>Inside a sandbox</h1>
<h2>On the volume</h2><pre id="volume">{0}</pre>
<h2>In the root file system</h2><pre id="root">{1}</pre>
<h2>The WebSocket says</h2><output id="answer"></output>
<script>
  const socket = new WebSocket(`ws://${{location.host}}/socket`);
  socket.onopen = () => socket.send("are you there?");
  socket.onmessage = ({{ data }}) => {{ document.getElementById("answer").value = data; socket.close(); }};
  socket.onerror = () => {{ document.getElementById("answer").value = "no connection"; }};
</script>
"""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/socket":
            self.talk()
        elif self.path == "/":
            self.send_page()
        else:
            self.send_error(404)

    def send_page(self):
        texts = [html.escape(notes.read_text()) for notes in NOTES]
        body = PAGE.format(*texts).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def talk(self):
        """RFC 6455, as much of it as one short text each way needs."""
        guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        digest = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + guid).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        self.end_headers()
        self.close_connection = True
        opcode, heard = self.read_frame()
        while opcode == 1:
            self.write_frame(1, b"heard: " + heard)
            opcode, heard = self.read_frame()
        self.write_frame(8, heard)

    def read_frame(self):
        head = self.rfile.read(2)
        if len(head) < 2:
            return 8, b""
        mask = self.rfile.read(4)
        masked = self.rfile.read(head[1] & 0x7F)
        return head[0] & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(masked))

    def write_frame(self, opcode, payload):
        self.wfile.write(struct.pack("!BB", 0x80 | opcode, len(payload)) + payload)


for notes in NOTES:
    if not notes.exists():
        notes.write_text("")
ThreadingHTTPServer(("", 8000), Handler).serve_forever()

"""A small notebook: each cell is Python, and variables live in the memory of this process."""

import contextlib
import html
import io
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

variables: dict[str, object] = {}
cells: list[tuple[str, str]] = []

PAGE = """<!doctype html><title>Notebook</title>
<style>body { font: 16px sans-serif; max-width: 40em; margin: 2em auto } textarea { width: 100%; height: 5em }</style>
<h1>Notebook</h1>%s
<form method="post"><textarea name="cell" autofocus></textarea><button>Run</button></form>"""


def run(cell: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            exec(cell, variables)
        except Exception:
            output.write(traceback.format_exc(limit=0))
    cells.append((cell, output.getvalue()))
    return output.getvalue()


class Notebook(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        shown = "".join(f"<pre>{html.escape(cell)}</pre><pre><b>{html.escape(output)}</b></pre>" for cell, output in cells)
        self.answer(PAGE % shown, "text/html")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/run":
            self.answer(run(body), "text/plain")
        else:
            run(parse_qs(body).get("cell", [""])[0])
            self.do_GET()

    def answer(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("", 8000), Notebook).serve_forever()

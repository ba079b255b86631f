"""A server that stands in for routers and sandboxes, and what stands in for the API server."""

import http.server
import json
import threading

import pytest


class Server:
    """Answers with the functions in `answers`, in turn, and keeps the requests."""

    def __init__(self):
        self.requests = []
        self.answers = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                number = len(outer.requests) - 1
                status, headers, content = outer.answers[min(number, len(outer.answers) - 1)]
                if status == 0:
                    self.connection.close()
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def server():
    server = Server()
    yield server
    server.server.shutdown()
    server.server.server_close()


class Helper:
    """Stands in for the API server."""

    injected_api_client = None
    addresses = ("10.0.0.7",)

    def get_sandbox(self, name, namespace):
        return {"metadata": {"name": name}, "status": {"podIPs": list(self.addresses)}}


class AsyncHelper(Helper):
    async def get_sandbox(self, name, namespace):
        return Helper.get_sandbox(self, name, namespace)


def result(**fields):
    return 200, {}, json.dumps({"stdout": "", "stderr": "", "exit_code": 0, **fields}).encode()

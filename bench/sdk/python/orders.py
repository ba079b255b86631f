"""Reads orders and prints measurements, one JSON object per line. `contender.ts` describes both."""

import json
import sys
import time


def milliseconds_since(started):
    return (time.perf_counter() - started) * 1000


def _timed(work):
    started = time.perf_counter()
    work()
    return {"ms": milliseconds_since(started)}


def _require(is_right, got):
    if not is_right:
        raise RuntimeError(f"Cannot measure: got {got!r}")


class Bench:
    """Measures one client. `true` is the command `true` in its form."""

    def __init__(self, *, create, attach, delete, true):
        self._create = create
        self._attach = attach
        self._delete = delete
        self._true = true
        #: The sandbox of the orders that follow "open".
        self.opened = None

    def serve(self, **more):
        """`more` are orders that only this client can carry out."""
        measures = {"first": self.first, "open": self.open, "exec": self.execute, "write": self.write, "read": self.read, **more}
        for line in sys.stdin:
            order = json.loads(line)
            print(json.dumps(measures[order.pop("do")](**order)), flush=True)

    def first(self):
        started = time.perf_counter()
        sandbox = self._create()
        ready_ms = milliseconds_since(started)
        stdout = sandbox.commands.run("echo ready").stdout
        ms = milliseconds_since(started)
        _require(stdout == "ready\n", stdout)
        self._delete(sandbox)
        return {"ms": ms, "ready_ms": ready_ms}

    def open(self, sandbox):
        self.opened = self._attach(sandbox)
        return {"ms": 0}

    def execute(self):
        return _timed(lambda: self.opened.commands.run(self._true))

    def write(self, path, bytes):
        content = b"agent-sandbox\x00\xff\n" * (bytes // 16)
        return _timed(lambda: self.opened.files.write(path, content))

    def read(self, path, bytes):
        def work():
            size = len(self.opened.files.read(path))
            _require(size == bytes, size)

        return _timed(work)

"""Reads orders and prints measurements, one JSON object per line. `contender.ts` describes both."""

import json
import sys
import time


def milliseconds_since(started):
    return (time.perf_counter() - started) * 1000


def timed(work):
    started = time.perf_counter()
    work()
    return {"ms": milliseconds_since(started)}


def require(is_right, got):
    if not is_right:
        raise RuntimeError(f"Cannot measure: got {got!r}")


def serve(measures):
    """`measures` has a function for each order. It is called with the fields of the order."""
    for line in sys.stdin:
        order = json.loads(line)
        measured = measures[order.pop("do")](**order)
        print(json.dumps(measured), flush=True)

"""What code with threads needs. `_aio` has the same functions for asyncio."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from threading import Lock as Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from ._core.tracing import operation

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
R = TypeVar("R")

T = TypeVar("T")

#: What methods with `yield` return.
Stream = Generator[T, None, None]

#: The pieces of a body that is sent.
Pieces = Iterable[bytes]


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def run_blocking(function: Callable[[], R]) -> R:
    """Runs a function that waits for files or processes."""
    return function()


def value_of(function: Callable[[], Any]) -> str:
    return cast(str, function())


def pieces_of(content: Pieces) -> Iterator[bytes]:
    yield from content


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes each call of a method one span."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with operation(name):
                return method(*args, **kwargs)

        return call

    return decorate


def interrupt(response: httpx.Response) -> None:
    """Wakes the thread that waits for the rest of a response. Closing a socket does not do that on Linux."""
    import socket

    stream = response.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if connection is not None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It has ended already.

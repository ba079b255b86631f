"""What asynchronous code needs from asyncio. `_blocking` has the same functions for code with threads."""

from __future__ import annotations

import asyncio
import functools
import inspect
from asyncio import Lock as Lock
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ._core.tracing import operation

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
R = TypeVar("R")

T = TypeVar("T")

#: What methods with `yield` return.
Stream = AsyncGenerator[T, None]

#: The pieces of a body that is sent.
Pieces = AsyncIterable[bytes] | Iterable[bytes]


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def run_blocking(function: Callable[[], R]) -> R:
    """Runs a function that waits for files or processes."""
    return await asyncio.to_thread(function)


async def value_of(function: Callable[[], str] | Callable[[], Awaitable[str]]) -> str:
    found = function()
    return await found if inspect.isawaitable(found) else found


async def pieces_of(content: Pieces) -> AsyncIterator[bytes]:
    if isinstance(content, AsyncIterable):
        async for piece in content:
            yield piece
    else:
        for piece in content:
            yield piece


def traced(
    name: str,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]]:
    """Makes each call of a method one span."""

    def decorate(method: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        @functools.wraps(method)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with operation(name):
                return await method(*args, **kwargs)

        return call

    return decorate


def interrupt(response: httpx.Response) -> None:
    """Wakes whoever waits for the rest of a response. Closing it does that with asyncio."""

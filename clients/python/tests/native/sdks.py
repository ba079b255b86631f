"""Runs a test with both SDKs: calls are made by name and awaited if they have to be."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from k8s_agent_sandbox import connect, connect_async

both = pytest.mark.parametrize("sdk", ["sync", "async"])


def with_sandbox(
    sdk: str, call: Callable[[Any], Any], *, token: Any = "secret-token", server: str | None = None, **options: Any
) -> Any:
    """The result of a call with the handle of a sandbox named `box`."""
    return with_client(sdk, lambda client: call(client.handle("box")), token=token, server=server, **options)


def with_client(
    sdk: str, call: Callable[[Any], Any], *, token: Any = "secret-token", server: str | None = None, **options: Any
) -> Any:
    options = {"token": token, "server": server or options.get("router"), **options}
    if sdk == "sync":
        with connect(**options) as client:
            return call(client)

    async def run() -> Any:
        async with await connect_async(**options) as client:
            found = call(client)
            return await found if inspect.isawaitable(found) else found

    return asyncio.run(run())


def collect(items: Any, found: list[Any]) -> Any:
    """Appends what an iterator of either SDK yields to a list."""
    if not hasattr(items, "__aiter__"):
        # Not `extend`, which would lose what came before an error.
        for item in items:
            found.append(item)
        return None

    async def run() -> None:
        async for item in items:
            found.append(item)

    return run()

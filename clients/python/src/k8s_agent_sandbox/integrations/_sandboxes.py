"""Sandboxes that exist as long as the tools of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import AsyncClient, AsyncSandboxHandle, Client, SandboxHandle


@contextmanager
def temporary_sandbox(client: Client | None, options: dict[str, Any]) -> Iterator[SandboxHandle]:
    """Creates a sandbox and deletes it at the end of the block. Without a client it connects as `connect()` does."""
    from .. import connect

    with ExitStack() as stack:
        connected = stack.enter_context(connect()) if client is None else client
        yield stack.enter_context(connected.create(**options))


@asynccontextmanager
async def temporary_async_sandbox(client: AsyncClient | None, options: dict[str, Any]) -> AsyncIterator[AsyncSandboxHandle]:
    """Like `temporary_sandbox`, for an event loop."""
    from .. import connect_async

    async with AsyncExitStack() as stack:
        connected = await stack.enter_async_context(await connect_async()) if client is None else client
        yield await stack.enter_async_context(await connected.create(**options))


def missing(framework: str, extra: str) -> ImportError:
    return ImportError(f"{framework} is not installed: pip install k8s-agent-sandbox[{extra}]")

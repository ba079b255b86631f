"""Tools for LangChain and LangGraph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from ._sandboxes import missing, temporary_async_sandbox, temporary_sandbox
from ._tools import DEFAULT_LIMITS, Limits, SandboxTool, tools_of

try:
    from langchain_core.tools import StructuredTool
except ImportError as error:
    raise missing("langchain-core", "langchain") from error

if TYPE_CHECKING:
    from .. import AsyncClient, AsyncSandboxHandle, Client, SandboxHandle

__all__ = ["Limits", "sandbox_tools", "temporary_async_sandbox_tools", "temporary_sandbox_tools"]


def sandbox_tools(sandbox: SandboxHandle | AsyncSandboxHandle, limits: Limits = DEFAULT_LIMITS) -> list[StructuredTool]:
    """Tools for `create_agent`. With an AsyncSandbox they only work in asynchronous calls of the agent."""
    return [_structured(tool) for tool in tools_of(sandbox, limits)]


@contextmanager
def temporary_sandbox_tools(
    *, client: Client | None = None, limits: Limits = DEFAULT_LIMITS, **create: Any
) -> Iterator[list[StructuredTool]]:
    """Creates a sandbox with the options of `Client.create` and deletes it at the end of the block."""
    with temporary_sandbox(client, create) as sandbox:
        yield sandbox_tools(sandbox, limits)


@asynccontextmanager
async def temporary_async_sandbox_tools(
    *, client: AsyncClient | None = None, limits: Limits = DEFAULT_LIMITS, **create: Any
) -> AsyncIterator[list[StructuredTool]]:
    """Like `temporary_sandbox_tools`, with an AsyncSandbox."""
    async with temporary_async_sandbox(client, create) as sandbox:
        yield sandbox_tools(sandbox, limits)


def _structured(tool: SandboxTool) -> StructuredTool:
    def run(**arguments: Any) -> str:
        return tool.run(arguments)

    async def run_async(**arguments: Any) -> str:
        return await tool.run_async(arguments)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.schema,
        func=None if tool.is_async else run,
        coroutine=run_async,
    )

"""Tools for Google's Agent Development Kit (ADK)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ._sandboxes import missing, temporary_async_sandbox
from ._tools import DEFAULT_LIMITS, Limits, tools_of
from ._tools import SandboxTool as Described

try:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", "adk") from error

if TYPE_CHECKING:
    from .. import AsyncClient, AsyncSandboxHandle, SandboxHandle

__all__ = ["Limits", "SandboxTool", "sandbox_tools", "temporary_sandbox_tools"]


class SandboxTool(BaseTool):
    """A tool whose result is ``{"result": text}``."""

    def __init__(self, tool: Described) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=self._tool.schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, str]:
        return {"result": await self._tool.run_async(args)}


def sandbox_tools(sandbox: SandboxHandle | AsyncSandboxHandle, limits: Limits = DEFAULT_LIMITS) -> list[SandboxTool]:
    """Tools for `Agent(tools=...)`. The calls of a Sandbox run in threads."""
    return [SandboxTool(tool) for tool in tools_of(sandbox, limits)]


@asynccontextmanager
async def temporary_sandbox_tools(
    *, client: AsyncClient | None = None, limits: Limits = DEFAULT_LIMITS, **create: Any
) -> AsyncIterator[list[SandboxTool]]:
    """Creates a sandbox with the options of `AsyncClient.create` and deletes it at the end of the block."""
    async with temporary_async_sandbox(client, create) as sandbox:
        yield sandbox_tools(sandbox, limits)

"""Tools for the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ._sandboxes import missing, temporary_async_sandbox
from ._tools import DEFAULT_LIMITS, Limits, SandboxTool, tools_of

try:
    from agents import FunctionTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

if TYPE_CHECKING:
    from .. import AsyncClient, AsyncSandboxHandle, SandboxHandle

__all__ = ["Limits", "sandbox_tools", "temporary_sandbox_tools"]


def sandbox_tools(sandbox: SandboxHandle | AsyncSandboxHandle, limits: Limits = DEFAULT_LIMITS) -> list[FunctionTool]:
    """Tools for `Agent(tools=...)`. The calls of a Sandbox run in threads."""
    return [_function_tool(tool) for tool in tools_of(sandbox, limits)]


@asynccontextmanager
async def temporary_sandbox_tools(
    *, client: AsyncClient | None = None, limits: Limits = DEFAULT_LIMITS, **create: Any
) -> AsyncIterator[list[FunctionTool]]:
    """Creates a sandbox with the options of `AsyncClient.create` and deletes it at the end of the block."""
    async with temporary_async_sandbox(client, create) as sandbox:
        yield sandbox_tools(sandbox, limits)


def _function_tool(tool: SandboxTool) -> FunctionTool:
    async def invoke(_: ToolContext[Any], text: str) -> str:
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            return "Error (InvalidArgument): The arguments are not valid JSON"
        if not isinstance(arguments, dict):
            return "Error (InvalidArgument): The arguments must be a JSON object"
        return await tool.run_async(arguments)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=_strict(tool.schema),
        on_invoke_tool=invoke,
    )


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's strict mode requires every parameter. Null then means that the model leaves one out."""
    properties = {name: rule if name in schema["required"] else _nullable(rule) for name, rule in schema["properties"].items()}
    return {**schema, "properties": properties, "required": list(properties)}


def _nullable(rule: dict[str, Any]) -> dict[str, Any]:
    values = {"enum": [*rule["enum"], None]} if "enum" in rule else {}
    return {**rule, **values, "type": [rule["type"], "null"]}

"""Tools for CrewAI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from ._sandboxes import missing, temporary_sandbox
from ._tools import DEFAULT_LIMITS, Limits, tools_of
from ._tools import SandboxTool as Described

try:
    from crewai.tools import BaseTool
    from pydantic import BaseModel, ConfigDict, PrivateAttr, WithJsonSchema, create_model
except ImportError as error:
    raise missing("crewai", "crewai") from error

if TYPE_CHECKING:
    from .. import Client, SandboxHandle

__all__ = ["Limits", "SandboxTool", "sandbox_tools", "temporary_sandbox_tools"]


def never_cache(_arguments: Any = None, _result: Any = None) -> bool:
    """CrewAI answers repeated calls from a cache, but the same command can do something else the next time."""
    return False


class SandboxTool(BaseTool):
    _tool: Described = PrivateAttr()

    def __init__(self, tool: Described) -> None:
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=_model(tool),
            cache_function=never_cache,
        )
        self._tool = tool

    def _run(self, **arguments: Any) -> str:
        return self._tool.run(arguments)

    async def _arun(self, **arguments: Any) -> str:
        return await self._tool.run_async(arguments)


def sandbox_tools(sandbox: SandboxHandle, limits: Limits = DEFAULT_LIMITS) -> list[SandboxTool]:
    """Tools for `Agent(tools=...)`. CrewAI calls tools in threads of its own, so they need a Sandbox, not an AsyncSandbox."""
    tools = tools_of(sandbox, limits)
    if any(tool.is_async for tool in tools):
        raise TypeError("CrewAI needs a Sandbox, not an AsyncSandbox")
    return [SandboxTool(tool) for tool in tools]


@contextmanager
def temporary_sandbox_tools(
    *, client: Client | None = None, limits: Limits = DEFAULT_LIMITS, **create: Any
) -> Iterator[list[SandboxTool]]:
    """Creates a sandbox with the options of `Client.create` and deletes it at the end of the block."""
    with temporary_sandbox(client, create) as sandbox:
        yield sandbox_tools(sandbox, limits)


def _model(tool: Described) -> type[BaseModel]:
    """The schema as a model that accepts everything: the tool checks the values, so that all frameworks give the same errors."""
    fields: dict[str, Any] = {
        name: (Annotated[Any, WithJsonSchema(rule)], ... if name in tool.schema["required"] else None)
        for name, rule in tool.schema["properties"].items()
    }
    return create_model(tool.name, __config__=ConfigDict(extra="allow"), **fields)

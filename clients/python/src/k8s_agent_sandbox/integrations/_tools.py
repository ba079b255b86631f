"""The tools that a model gets, described once for all frameworks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .._async.commands import AsyncCommands
from .._async.files import AsyncFiles
from .._async.sandbox import AsyncSandboxHandle
from .._sync.commands import Commands
from .._sync.files import Files
from .._sync.sandbox import SandboxHandle
from ..exceptions import SandboxError
from ._arguments import InvalidArguments, check
from ._texts import (
    MAX_OUTPUT_RATIO,
    OutputLimitReached,
    Printed,
    shorten,
    text_of_code,
    text_of_command,
    text_of_entries,
    text_of_file,
)

_log = logging.getLogger("k8s_agent_sandbox.integrations")


@dataclass(frozen=True)
class Limits:
    """Bounds for every call of a tool."""

    #: The longest result that a model gets. The middle of longer output is left out, and the text says so.
    max_characters: int = 16_000
    #: The longest time that a command or code may run, and the time if the model does not choose one.
    max_timeout_seconds: int = 120

    def __post_init__(self) -> None:
        if self.max_characters < 500:
            raise ValueError(f"max_characters must be at least 500, not {self.max_characters}")
        if self.max_timeout_seconds < 1:
            raise ValueError(f"max_timeout_seconds must be at least 1, not {self.max_timeout_seconds}")


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class SandboxTool:
    """One tool for one sandbox. Frameworks show its name, description and JSON schema to the model."""

    name: str
    description: str
    schema: dict[str, Any]
    #: Whether the tool belongs to an AsyncSandbox, so that only `run_async` works.
    is_async: bool
    max_characters: int
    #: Calls the sandbox with valid arguments. The result is awaitable if the sandbox is an AsyncSandbox.
    call: Callable[[dict[str, Any]], Any]
    #: Makes a text of the result. The arguments are those of the call.
    text: Callable[[Any, dict[str, Any]], str]

    def run(self, arguments: Mapping[str, Any]) -> str:
        """Calls the tool. Never raises: a failure is a text that starts with ``Error`` and the reason."""
        try:
            valid = check(arguments, self.schema)
            return shorten(self.text(self.call(valid), valid), self.max_characters)
        except Exception as error:
            return self._failure(error)

    async def run_async(self, arguments: Mapping[str, Any]) -> str:
        """Like `run`. A Sandbox is called in a thread."""
        if not self.is_async:
            return await asyncio.to_thread(self.run, arguments)
        try:
            valid = check(arguments, self.schema)
            return shorten(self.text(await self.call(valid), valid), self.max_characters)
        except Exception as error:
            return self._failure(error)

    def _failure(self, error: Exception) -> str:
        if isinstance(error, OutputLimitReached):
            return str(error)
        if isinstance(error, InvalidArguments):
            return shorten(f"Error (InvalidArgument): {error}", self.max_characters)
        if isinstance(error, SandboxError) and error.status == 416:
            return "Error (InvalidArgument): The file ends before this offset"
        if isinstance(error, SandboxError):
            return shorten(f"Error ({error.reason}): {error}", self.max_characters)
        # The message of any other error was not written for a model and could contain anything.
        _log.error("Tool %s failed", self.name, exc_info=error)
        return f"Error (Internal): {self.name} failed with {type(error).__name__}"


def tools_of(sandbox: SandboxHandle | AsyncSandboxHandle, limits: Limits) -> Sequence[SandboxTool]:
    """The tools for a sandbox. They have no state except the interpreters of `run_code`, which belong to the handle."""
    limit = limits.max_characters
    is_async = isinstance(sandbox, AsyncSandboxHandle)
    # Subclasses replace some methods by those of earlier versions, which have no limits. These two are the originals.
    commands: Any = AsyncCommands if is_async else Commands
    files: Any = AsyncFiles if is_async else Files
    # A character has at most four bytes in UTF-8. One byte more shows that the file is longer.
    read_bytes = 4 * limit + 1
    path = {"type": "string", "minLength": 1, "description": "Relative to the working directory, or absolute."}
    timeout = {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.max_timeout_seconds,
        "description": f"It is ended after this time. Default: {limits.max_timeout_seconds}.",
    }

    def seconds(arguments: Mapping[str, Any]) -> int:
        return int(arguments.get("timeout_seconds", limits.max_timeout_seconds))

    def run_code(given: dict[str, Any]) -> Any:
        printed = Printed(limit)
        return sandbox.run_code(
            given["code"],
            language=given.get("language", "python"),
            timeout=seconds(given),
            on_stdout=printed.add,
            on_stderr=printed.add,
            on_result=printed.add_value,
        )

    def read_file(given: dict[str, Any]) -> Any:
        first = given.get("offset", 0)
        return files.read(_part(sandbox.files), given["path"], first=first, last=first + read_bytes - 1)

    def list_files(given: dict[str, Any]) -> Any:
        # A line has at least nine characters. A directory can have millions of entries, so the rest is not even read.
        entries = files.tree(_part(sandbox.files), given.get("path", "."), depth=1)
        return _first_async(entries, limit // 9) if is_async else list(islice(entries, limit // 9))

    def make(
        name: str,
        description: str,
        *,
        required: Mapping[str, Any],
        optional: Mapping[str, Any],
        call: Callable[[dict[str, Any]], Any],
        text: Callable[[Any, dict[str, Any]], str],
    ) -> SandboxTool:
        schema = {
            "type": "object",
            "properties": {**required, **optional},
            "required": list(required),
            "additionalProperties": False,
        }
        return SandboxTool(name, description, schema, is_async, limit, call, text)

    return [
        make(
            "run_command",
            "Runs a shell command in the sandbox. Returns its exit code, stdout and stderr.",
            required={"command": {"type": "string", "minLength": 1, "description": "A script for /bin/sh."}},
            optional={"timeout_seconds": timeout},
            call=lambda given: commands.run(
                _part(sandbox.commands), given["command"], timeout=seconds(given), max_output_bytes=MAX_OUTPUT_RATIO * limit
            ),
            text=lambda result, _: text_of_command(result, limit),
        ),
        make(
            "run_code",
            "Runs code in an interpreter in the sandbox that keeps variables between calls. "
            "Returns what it printed and the value of its last expression.",
            required={"code": {"type": "string", "minLength": 1}},
            optional={
                "language": {"type": "string", "enum": ["python", "javascript"], "description": "Default: python."},
                "timeout_seconds": timeout,
            },
            call=run_code,
            text=lambda result, _: text_of_code(result, limit),
        ),
        make(
            "read_file",
            "Reads a text file in the sandbox.",
            required={"path": path},
            optional={"offset": {"type": "integer", "minimum": 0, "description": "The first byte. Default: 0."}},
            call=read_file,
            text=lambda content, given: text_of_file(content, given.get("offset", 0), limit),
        ),
        make(
            "write_file",
            "Writes a text file in the sandbox. Creates missing directories and replaces an existing file.",
            required={"path": path, "content": {"type": "string"}},
            optional={},
            call=lambda given: files.write(_part(sandbox.files), given["path"], given["content"]),
            text=lambda _, given: f"{len(given['content'].encode())} bytes written",
        ),
        make(
            "list_files",
            "Lists a directory in the sandbox: type, size in bytes and name of each entry.",
            required={},
            optional={"path": {**path, "description": "Default: the working directory."}},
            call=list_files,
            text=lambda entries, _: text_of_entries(entries, limit),
        ),
    ]


def _part(part: Any) -> Any:
    """The commands or files of a sandbox. The handles of earlier versions have none after `terminate`."""
    if part is None:
        raise SandboxError("The connection to the sandbox was closed", reason="NotFound")
    return part


async def _first_async(entries: AsyncGenerator[Any], count: int) -> list[Any]:
    found: list[Any] = []
    async with aclosing(entries):
        async for entry in entries:
            found.append(entry)
            if len(found) == count:
                break
    return found

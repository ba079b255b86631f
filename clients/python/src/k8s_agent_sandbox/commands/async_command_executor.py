"""Commands of a sandbox."""

from .._async.command_executor import AsyncCommandExecutor as AsyncCommandExecutor

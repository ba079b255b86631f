"""Commands of a sandbox."""

from .._sync.command_executor import CommandExecutor as CommandExecutor

# Generated from _async/command_executor.py by tools/make_sync.py: do not edit.
"""Commands of a sandbox, with the reference's `run` and the native methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.results import CommandResult
from .._reference._sync import call_grpc
from .._reference.process_messages import EXECUTE_METHOD, execute_request, execute_result
from .._reference.results import (
    check_variables,
    executable_of,
    execution_result,
    is_without_sandboxd,
    legacy_request,
    legacy_result,
    span_now,
)
from ..exceptions import SandboxError, SandboxTimeoutError
from ..models import ExecutionResult
from ..trace_manager import trace_span
from .commands import Commands
from .connector import SandboxConnector


class CommandExecutor(Commands):
    """Runs commands in a sandbox."""

    def __init__(self, connector: SandboxConnector, tracer: Any, trace_service_name: str) -> None:
        super().__init__(connector.router, connector.target)
        self.connector = connector
        self.tracer = tracer
        self.trace_service_name = trace_service_name

    @trace_span("run")
    def run(  # type: ignore[override]
        self,
        command: str | Sequence[str],
        timeout: float = 60,
        command_timeout: float | None = None,
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        **options: Any,
    ) -> ExecutionResult:
        """Runs a command until it ends. An exit code other than 0 is a result, not an error.

        A text is split into words and run without a shell by the legacy runtime. It is a script for `/bin/sh` on connections to
        sandboxd, and with `env`, `cwd` or `options`, which need sandboxd in the sandbox. The options are those of the native SDK:
        `user`, `stdin`, `max_output_bytes`, `on_stdout`, `on_stderr`. A list is a program with arguments, and needs sandboxd too.

        `timeout` limits the call. `command_timeout` limits the command: it is then killed, and the result has `timed_out`.
        """
        check_variables(env)
        span = span_now(self.tracer)
        if isinstance(command, str):
            span.set_attribute("sandbox.command.executable", executable_of(command))
        if self.connector.is_sandboxd() or not isinstance(command, str) or env or cwd or options:
            native: dict[str, Any] = {**options, "env": env, "cwd": cwd}
            limit = timeout if command_timeout is None else command_timeout
            if options or self.connector.speaks_connect():
                result = self._run_sandboxd(command, limit, native)
            else:
                result = self._run_grpc(command, limit, env, cwd, reports_timeout=command_timeout is not None)
        else:
            body, seconds = legacy_request(command, timeout, command_timeout)
            response = self.connector.send_request("POST", "execute", json=body, timeout=seconds)
            result = legacy_result(response)
        span.set_attribute("sandbox.exit_code", result.exit_code)
        return result

    def _run_grpc(
        self,
        command: str | Sequence[str],
        timeout: float,
        env: dict[str, str] | None,
        cwd: str | None,
        *,
        reports_timeout: bool,
    ) -> ExecutionResult:
        """For the reference's sandboxd. The call is sent once."""
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
        request = execute_request(words, env, cwd)
        try:
            response = call_grpc(self.connector.grpc_target or "", EXECUTE_METHOD, request, timeout)
        except SandboxTimeoutError as error:
            if not reports_timeout:
                raise
            return execution_result(CommandResult(stderr=str(error), timed_out=True))
        return execution_result(execute_result(response))

    def _run_sandboxd(self, command: str | Sequence[str], timeout: float, options: dict[str, Any]) -> ExecutionResult:
        try:
            return execution_result(super().run(command, timeout=timeout, **options))
        except SandboxError as error:
            if not is_without_sandboxd(error) or self.connector.is_sandboxd():
                raise
            raise NotImplementedError("env, cwd and lists need sandboxd, and this sandbox has only the legacy runtime") from error

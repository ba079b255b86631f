# Generated from _async/commands.py by tools/make_sync.py: do not edit.
from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._blocking import traced
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity, new_request_id
from .._core.parse import command_result_of, process_of
from .._core.results import CommandResult, Output, ProcessInfo, TerminalSize
from .._core.tracing import note
from .._core.wire import base64_of, duration_of, is_finite
from ..exceptions import SandboxArgumentError, SandboxError
from .process import Process
from .router import Router
from .rpc import Rpc

#: A text is a script for ``/bin/sh``. A list is a program and its arguments, which no shell sees.
Command = str | Sequence[str]

_DEFAULT_TIMEOUT = 60.0
#: The server needs time to report that it killed a command.
_GRACE = 15.0


class Commands:
    """Runs programs in a sandbox."""

    def __init__(self, router: Router, target: SandboxIdentity) -> None:
        self._rpc = Rpc(router, target)

    @traced("run")
    def run(
        self,
        command: Command,
        timeout: float = _DEFAULT_TIMEOUT,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        stdin: str | bytes | None = None,
        max_output_bytes: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
    ) -> CommandResult:
        """Runs a command until it ends. An exit code other than 0 is a result, not an error.

        After `timeout` seconds the command and everything it started is killed; the result then has `timed_out` and the
        output so far. Output beyond `max_output_bytes` is dropped; without it, more than 64 MiB are an error. `on_stdout`
        and `on_stderr` are called with each piece of output as soon as it arrives. `user` is a name, ``uid`` or ``uid:gid``.
        If the call is interrupted, the command ends.
        """
        doing = f"Cannot run {_describe(command)}"
        # Checks the timeout, too.
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, doing)
        config = _config_of(command, env, cwd, user, timeout)
        if on_stdout is not None or on_stderr is not None:
            result = self._stream(doing, config, stdin, max_output_bytes, on_stdout, on_stderr)
        else:
            message: dict[str, Any] = {"config": config, "requestId": new_request_id()}
            if stdin is not None:
                message["stdin"] = base64_of(stdin)
            if max_output_bytes is not None:
                message["maxOutputBytes"] = max_output_bytes
            deadline = Deadline(timeout + _GRACE, _DEFAULT_TIMEOUT, doing)
            result = command_result_of(self._rpc.unary(deadline, "Execute", message))
        note("sandbox.exit_code", result.exit_code)
        return result

    @traced("start")
    def start(
        self,
        command: Command,
        timeout: float | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        terminal: TerminalSize | None = None,
        keep_running_seconds: float = 10.0,
    ) -> Process:
        """Starts a program and returns while it runs. `timeout` limits its life.

        With a terminal, all output is `stdout`. `keep_running_seconds` is how long the process runs without a connection
        before it is killed: by default it ends with this program, with ``math.inf`` it goes on until it ends by itself.
        """
        config = _config_of(command, env, cwd, user, timeout)
        return self._start(f"Cannot start {_describe(command)}", config, terminal, keep_running_seconds)

    @traced("attach")
    def attach(self, id: int, *, from_offset: int | None = None) -> Process:
        """Connects to a process that `start` has started, also from another program. Its kept output (256 KiB) is sent again."""
        message: dict[str, Any] = {"processId": id}
        if from_offset is not None:
            message["fromOffset"] = str(from_offset)
        return Process.open(self._rpc, f"Cannot attach to process {id}", "Attach", message)

    @traced("list_processes")
    def list(self, *, timeout: float | None = None) -> builtins.list[ProcessInfo]:
        """Running processes, and processes of `start` that have ended recently."""
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, "Cannot list the processes")
        found = self._rpc.unary(deadline, "List", {})
        return [process_of(message) for message in found.get("processes", ())]

    def _start(
        self, doing: str, config: dict[str, Any], terminal: TerminalSize | None, keep_running_seconds: float
    ) -> Process:
        message: dict[str, Any] = {"config": config, "detach": True, "requestId": new_request_id()}
        if terminal is not None:
            message["pty"] = {"cols": terminal.cols, "rows": terminal.rows}
        if math.isfinite(keep_running_seconds):
            message["abandonAfter"] = duration_of(keep_running_seconds)
        return Process.open(self._rpc, doing, "Start", message)

    def _stream(
        self,
        doing: str,
        config: dict[str, Any],
        stdin: str | bytes | None,
        max_output_bytes: int | None,
        on_stdout: Callable[[str], object] | None,
        on_stderr: Callable[[str], object] | None,
    ) -> CommandResult:
        kept: dict[str, builtins.list[str]] = {"stdout": [], "stderr": []}
        left = math.inf if max_output_bytes is None else max_output_bytes
        size = 0
        with self._start(doing, config, None, 10.0) as process:
            if stdin is not None:
                _unless_ended(process, stdin)
            _unless_ended(process, None)
            for piece in process.output():
                hear = on_stdout if piece.stream == "stdout" else on_stderr
                if hear is not None:
                    hear(piece.text)
                size += len(piece.data)
                if left > 0:
                    kept[piece.stream].append(_beginning(piece, left))
                    left -= len(piece.data)
            ended = process.wait()
        return CommandResult(
            stdout="".join(kept["stdout"]),
            stderr="".join(kept["stderr"]),
            exit_code=ended.exit_code,
            signal=ended.signal,
            timed_out=ended.timed_out,
            truncated=max_output_bytes is not None and size > max_output_bytes,
        )


def _unless_ended(process: Process, data: str | bytes | None) -> None:
    """A command need not read its input, and may have ended. The runtime then reports that its pipe is closed."""
    try:
        if data is None:
            process.close_input()
        else:
            process.write(data)
    except SandboxError as error:
        if error.reason not in ("Conflict", "NotFound", "Internal"):
            raise


def _beginning(piece: Output, left: float) -> str:
    return piece.text if len(piece.data) <= left else piece.data[: int(left)].decode("utf-8", "replace")


def _config_of(
    command: Command,
    env: Mapping[str, str] | None,
    cwd: str | None,
    user: str | None,
    timeout: float | None,
) -> dict[str, Any]:
    if not command:
        raise SandboxArgumentError("Cannot run an empty command")
    config: dict[str, Any] = {"shell": command} if isinstance(command, str) else {"command": list(command)}
    fields = {"cwd": cwd, "envVars": None if env is None else dict(env), "user": user}
    if timeout is not None and is_finite(timeout):
        fields["timeout"] = duration_of(timeout)
    return {**config, **{name: value for name, value in fields.items() if value is not None}}


def _describe(command: Command) -> str:
    """Arguments may be secret, so errors contain only the program."""
    return "the command" if isinstance(command, str) or not command else f'"{command[0]}"'

"""From requests of the reference's `run` to its results."""

from __future__ import annotations

import sys
from typing import Any

from .._core.results import CommandResult
from ..exceptions import ErrorReason, SandboxError, SandboxRequestError, SandboxTimeoutError
from ..models import ExecutionResult, LegacyExecuteRequest
from ..trace_manager import MockSpan

# The runtime needs time to report that it killed a command.
_GRACE_SECONDS = 10
_TIMED_OUT_CODE = 124


def executable_of(command: str) -> str:
    """The name of the program in a command line. Arguments may be secret."""
    words = (word for word in command.split() if "=" not in word)
    return next(words, "").rpartition("/")[2]


def check_variables(env: dict[str, str] | None) -> None:
    for name in env or {}:
        if not name or "=" in name:
            raise ValueError(f"Environment variable {name!r} must not be empty and must not contain '='")


def legacy_request(command: str, timeout: float, command_timeout: float | None) -> tuple[dict[str, Any], float]:
    """The body of `POST /execute`, and how long to wait for its response."""
    body = LegacyExecuteRequest(command=command, timeout_seconds=command_timeout).model_dump(exclude_none=True)
    return body, timeout if command_timeout is None else max(timeout, command_timeout + _GRACE_SECONDS)


def legacy_result(response: Any) -> ExecutionResult:
    """Reads a response of `POST /execute` or `POST /agent`. Raises RuntimeError if it is something else."""
    try:
        return ExecutionResult(**(response.json() or {}))
    except Exception as error:
        raise RuntimeError(f"The sandbox sent an invalid result: {response.text[:200]}") from error


def execution_result(result: CommandResult) -> ExecutionResult:
    return ExecutionResult(
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=_TIMED_OUT_CODE if result.timed_out else result.exit_code,
        timed_out=result.timed_out,
        signal=result.signal,
        truncated=result.truncated,
    )


def grpc_error(error: Any, timeout: float) -> SandboxError:
    """The error of a failed gRPC call."""
    code = error.code().name
    if code == "DEADLINE_EXCEEDED":
        return SandboxTimeoutError(f"Cannot run the command: it took longer than {timeout:g} seconds", server_reason=code)
    reason: ErrorReason = "Unreachable" if code == "UNAVAILABLE" else "Internal"
    return SandboxRequestError(f"Cannot run the command: {code}: {error.details()}", reason=reason, server_reason=code)


def is_without_sandboxd(error: SandboxError) -> bool:
    """Whether the failure says that nothing in the sandbox serves the API of sandboxd."""
    return (
        error.reason == "Unsupported" or error.server_reason == "Refused" or (error.status == 502 and error.server_reason is None)
    )


def span_now(tracer: Any) -> Any:
    """The span of the present call. One that records nothing if tracing is off."""
    if not tracer:
        return MockSpan()
    return sys.modules["opentelemetry.trace"].get_current_span()

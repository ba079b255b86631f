"""The errors of this package. None of them contains a credential."""

from __future__ import annotations

from typing import Any, Literal

ErrorReason = Literal[
    "NotFound",  # The sandbox, file, process or other object does not exist.
    "AlreadyExists",  # Another object has this name.
    "Suspended",  # The sandbox is suspended, and traffic may not resume it.
    "Starting",  # The sandbox did not become ready in time, but still may.
    "Failed",  # The sandbox will not become ready; the message has the cause.
    "Unauthenticated",  # The credential is missing, invalid or expired.
    "Forbidden",  # The caller is not allowed to do this.
    "InvalidArgument",  # A parameter is not valid.
    "Conflict",  # The state of the object does not allow the call, for example a directory that is not empty.
    "LimitExceeded",  # A quota or a limit is reached.
    "TimedOut",  # The call took longer than its timeout.
    "Unreachable",  # The server could not be reached, and the call had no effect.
    "OutcomeUnknown",  # The connection was lost after the call was sent. It may have had an effect.
    "Unsupported",  # The server or the runtime in the sandbox does not have this feature.
    "Internal",  # Anything else.
]


class SandboxError(RuntimeError):
    """The base of all errors that calls of this package raise."""

    #: Why the call failed. The other SDKs use the same words.
    reason: ErrorReason = "Internal"
    #: The status of the HTTP response.
    status: int | None = None
    #: The reason in the server's own words, for example ``SandboxStarting`` or ``NOT_FOUND``.
    server_reason: str | None = None
    #: The beginning of the response body.
    body: str | None = None

    def __init__(
        self,
        message: str = "",
        *,
        reason: ErrorReason | None = None,
        status: int | None = None,
        server_reason: str | None = None,
        body: str | None = None,
    ) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason
        if status is not None:
            self.status = status
        self.server_reason = server_reason
        self.body = body


class SandboxTimeoutError(SandboxError, TimeoutError):
    """The call took longer than its timeout."""

    reason: ErrorReason = "TimedOut"


class SandboxNotReadyError(SandboxTimeoutError):
    """The sandbox did not become ready in time, but still may."""

    reason: ErrorReason = "Starting"


class SandboxArgumentError(SandboxError, ValueError):
    """A parameter is not valid. Nothing was sent."""

    reason: ErrorReason = "InvalidArgument"


class SandboxNoServiceError(SandboxError):
    """The Sandbox has no Service, but the connection goes through it."""

    reason: ErrorReason = "Unsupported"


#: The name of this error in earlier versions.
SandboxServiceUnavailableError = SandboxNoServiceError


class SandboxNotFoundError(SandboxError):
    """The Sandbox or its claim does not exist."""

    reason: ErrorReason = "NotFound"


class SnapshotNotFoundError(SandboxError):
    """The snapshot does not exist."""

    reason: ErrorReason = "NotFound"


class SandboxTemplateNotFoundError(SandboxError):
    """The SandboxTemplate does not exist."""

    reason: ErrorReason = "Failed"


class SandboxWarmPoolNotFoundError(SandboxError):
    """The SandboxWarmPool does not exist."""

    reason: ErrorReason = "Failed"


class SandboxPortForwardError(SandboxError):
    """The program that forwards a port has ended."""

    reason: ErrorReason = "Unreachable"


class SandboxMetadataError(SandboxError):
    """An object lacks metadata that it must have."""


class SandboxClaimFailedError(SandboxError):
    """The sandbox will not become ready without a change. The message has the cause."""

    reason: ErrorReason = "Failed"


class SandboxRequestError(SandboxError):
    """A request failed: the server refused it or could not be reached."""

    #: The response object, if the caller asked for one.
    response: Any

    def __init__(
        self,
        message: str = "",
        status_code: int | None = None,
        response: Any = None,
        *,
        reason: ErrorReason | None = None,
        status: int | None = None,
        server_reason: str | None = None,
        body: str | None = None,
    ) -> None:
        code = status if status_code is None else status_code
        super().__init__(message, reason=reason, status=code, server_reason=server_reason, body=body)
        self.response = response

    @property
    def status_code(self) -> int | None:
        """The same as `status`."""
        return self.status

    @status_code.setter
    def status_code(self, value: int | None) -> None:
        self.status = value


def is_sandbox_error(error: object, reason: ErrorReason | None = None) -> bool:
    """Whether a call failed for this reason."""
    return isinstance(error, SandboxError) and (reason is None or error.reason == reason)

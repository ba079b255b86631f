"""Create and use Agent Sandboxes: run commands and code, transfer files, suspend, snapshot and fork."""

from .exceptions import (
    ErrorReason,
    SandboxArgumentError,
    SandboxClaimFailedError,
    SandboxError,
    SandboxMetadataError,
    SandboxNoServiceError,
    SandboxNotFoundError,
    SandboxNotReadyError,
    SandboxPortForwardError,
    SandboxRequestError,
    SandboxServiceUnavailableError,
    SandboxTemplateNotFoundError,
    SandboxTimeoutError,
    SandboxWarmPoolNotFoundError,
    SnapshotNotFoundError,
    is_sandbox_error,
)

__all__ = [
    "ErrorReason",
    "SandboxArgumentError",
    "SandboxClaimFailedError",
    "SandboxError",
    "SandboxMetadataError",
    "SandboxNoServiceError",
    "SandboxNotFoundError",
    "SandboxNotReadyError",
    "SandboxPortForwardError",
    "SandboxRequestError",
    "SandboxServiceUnavailableError",
    "SandboxTemplateNotFoundError",
    "SandboxTimeoutError",
    "SandboxWarmPoolNotFoundError",
    "SnapshotNotFoundError",
    "is_sandbox_error",
]

"""Create and use Agent Sandboxes: run commands and code, transfer files, suspend, snapshot and fork."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ._async.client import AsyncClient
    from ._async.code import AsyncCodeContext
    from ._async.connect import connect_async
    from ._async.process import AsyncProcess
    from ._async.sandbox import AsyncSandboxHandle
    from ._core.results import (
        CodeError,
        CodeResult,
        CommandResult,
        Exit,
        FileChange,
        FileEntry,
        FileInfo,
        ListedSandbox,
        OpenPort,
        Output,
        ProcessInfo,
        SandboxStatus,
        Snapshot,
        Suspension,
        TerminalSize,
        Usage,
    )
    from ._sync.client import Client
    from ._sync.code import CodeContext
    from ._sync.connect import connect
    from ._sync.process import Process
    from ._sync.sandbox import SandboxHandle
    from .async_sandbox_client import AsyncSandboxClient
    from .metrics_utils import get_metrics, print_metrics
    from .models import SandboxdInClusterConnectionConfig
    from .sandbox_client import SandboxClient

__all__ = [
    "AsyncClient",
    "AsyncCodeContext",
    "AsyncProcess",
    "AsyncSandboxClient",
    "AsyncSandboxHandle",
    "Client",
    "CodeContext",
    "CodeError",
    "CodeResult",
    "CommandResult",
    "ErrorReason",
    "Exit",
    "FileChange",
    "FileEntry",
    "FileInfo",
    "ListedSandbox",
    "OpenPort",
    "Output",
    "Process",
    "ProcessInfo",
    "SandboxArgumentError",
    "SandboxClaimFailedError",
    "SandboxClient",
    "SandboxError",
    "SandboxHandle",
    "SandboxMetadataError",
    "SandboxNoServiceError",
    "SandboxNotFoundError",
    "SandboxNotReadyError",
    "SandboxPortForwardError",
    "SandboxRequestError",
    "SandboxServiceUnavailableError",
    "SandboxStatus",
    "SandboxTemplateNotFoundError",
    "SandboxTimeoutError",
    "SandboxWarmPoolNotFoundError",
    "SandboxdInClusterConnectionConfig",
    "Snapshot",
    "SnapshotNotFoundError",
    "Suspension",
    "TerminalSize",
    "Usage",
    "connect",
    "connect_async",
    "get_metrics",
    "is_sandbox_error",
    "print_metrics",
]

#: Where the other names are. They are imported when they are first used, so that importing the package takes little time.
_EXPORTS = {
    "AsyncClient": "._async.client",
    "AsyncCodeContext": "._async.code",
    "AsyncProcess": "._async.process",
    "AsyncSandboxClient": ".async_sandbox_client",
    "AsyncSandboxHandle": "._async.sandbox",
    "Client": "._sync.client",
    "CodeContext": "._sync.code",
    "Process": "._sync.process",
    "SandboxClient": ".sandbox_client",
    "SandboxHandle": "._sync.sandbox",
    "SandboxdInClusterConnectionConfig": ".models",
    "connect": "._sync.connect",
    "connect_async": "._async.connect",
    "get_metrics": ".metrics_utils",
    "print_metrics": ".metrics_utils",
}


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_EXPORTS.get(name, "._core.results"), __name__), name)
    globals()[name] = found
    return found

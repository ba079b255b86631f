"""What calls return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Depth = Literal["Volumes", "Filesystem", "Memory"]
FileType = Literal["file", "directory", "symlink", "other"]
Language = Literal["python", "javascript"]


@dataclass(frozen=True)
class CommandResult:
    stdout: str = ""
    stderr: str = ""
    #: -1 if a signal ended the command.
    exit_code: int = 0
    #: The number of the signal that ended the command.
    signal: int | None = None
    #: The command was killed because of its timeout. The output is what it had written.
    timed_out: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class Exit:
    #: -1 if a signal ended the process.
    exit_code: int
    signal: int | None = None
    timed_out: bool = False


@dataclass(frozen=True)
class Output:
    stream: Literal["stdout", "stderr"]
    text: str
    data: bytes


@dataclass(frozen=True)
class TerminalSize:
    cols: int
    rows: int


@dataclass(frozen=True)
class ProcessInfo:
    id: int
    pid: int
    command: Sequence[str]
    cwd: str
    started_at: datetime | None
    #: Set if the process has ended.
    exit: Exit | None = None


@dataclass(frozen=True)
class FileEntry:
    name: str
    size: int
    type: FileType
    #: As in ``0644``.
    mode: str
    modified_at: datetime


@dataclass(frozen=True)
class TreeEntry(FileEntry):
    path: str = ""


@dataclass(frozen=True)
class FileInfo(TreeEntry):
    uid: int = 0
    gid: int = 0
    #: Changes with the content.
    etag: str = ""
    #: Of a symbolic link.
    target: str | None = None


@dataclass(frozen=True)
class FileChange:
    type: Literal["created", "modified", "attributes", "deleted", "overflow"]
    path: str


@dataclass(frozen=True)
class CodeError:
    name: str
    message: str
    traceback: str


@dataclass(frozen=True)
class CodeResult:
    stdout: str = ""
    stderr: str = ""
    #: The value of the last expression, and what the code displayed: values by media type, always with ``text/plain``.
    results: Sequence[Mapping[str, Any]] = ()
    #: An exception of the code. It is a result, not an error of the call.
    error: CodeError | None = None

    @property
    def text(self) -> str | None:
        """The text of the last result."""
        found = self.results[-1].get("text/plain") if self.results else None
        return found if isinstance(found, str) else None


@dataclass(frozen=True)
class OpenPort:
    port: int
    address: str
    command: str


@dataclass(frozen=True)
class Suspension:
    """What the last suspension kept, and what the last resume restored."""

    depth: Depth | None = None
    restored: Depth | None = None
    epoch: int | None = None
    size_bytes: int | None = None
    time: datetime | None = None


@dataclass(frozen=True)
class SandboxStatus:
    phase: Literal["Ready", "Suspended", "Starting", "Failed"]
    #: Why the sandbox is not ready.
    reason: str | None = None
    message: str | None = None
    addresses: Sequence[str] = ()
    expires_at: datetime | None = None
    suspension: Suspension = field(default_factory=Suspension)


@dataclass(frozen=True)
class ListedSandbox:
    name: str
    namespace: str
    labels: Mapping[str, str]
    created_at: datetime | None
    status: SandboxStatus


@dataclass(frozen=True)
class Snapshot:
    name: str
    depth: Depth
    size_bytes: int
    #: How long the sandbox stood still.
    pause_seconds: float


@dataclass(frozen=True)
class Usage:
    cpu_seconds: float
    memory_bytes: int
    processes: int
    disk_bytes: int
    memory_limit_bytes: int | None = None

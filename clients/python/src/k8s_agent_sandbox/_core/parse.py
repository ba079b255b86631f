"""From the JSON of the servers to the results of calls."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .readiness import is_ready
from .resources import Object, current_condition, metadata_of, spec_of, status_of
from .results import (
    CommandResult,
    Exit,
    FileEntry,
    FileInfo,
    ListedSandbox,
    ProcessInfo,
    SandboxStatus,
    Suspension,
    TreeEntry,
    Usage,
)
from .wire import text_of


def time_of(text: str) -> datetime:
    # Go writes nanoseconds, and datetime has microseconds.
    if "." in text:
        head, _, tail = text.partition(".")
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6].ljust(6, '0')}{tail[digits:]}"
    return datetime.fromisoformat(text)


def optional_time(text: str | None) -> datetime | None:
    return time_of(text) if text else None


def command_result_of(message: Object) -> CommandResult:
    return CommandResult(
        stdout=text_of(message.get("stdout", "")),
        stderr=text_of(message.get("stderr", "")),
        exit_code=message.get("exitCode", 0),
        signal=message.get("signal"),
        timed_out=message.get("timedOut", False),
        truncated=message.get("truncated", False),
    )


def exit_of(message: Object) -> Exit:
    return Exit(message.get("exitCode", 0), message.get("signal"), message.get("timedOut", False))


def process_of(message: Object) -> ProcessInfo:
    ended = message.get("exit")
    return ProcessInfo(
        id=message["processId"],
        pid=message.get("pid", 0),
        command=tuple(message.get("command", ())),
        cwd=message.get("cwd", ""),
        started_at=optional_time(message.get("startedAt")),
        exit=None if ended is None else exit_of(ended),
    )


def _entry_fields(wire: Object) -> dict[str, Any]:
    names = ("name", "size", "type", "mode")
    return {**{name: wire[name] for name in names}, "modified_at": time_of(wire["modified_at"])}


def entry_of(wire: Object) -> FileEntry:
    return FileEntry(**_entry_fields(wire))


def tree_entry_of(wire: Object) -> TreeEntry:
    return TreeEntry(**_entry_fields(wire), path=wire["path"])


def file_info_of(wire: Object) -> FileInfo:
    own = {name: wire[name] for name in ("path", "uid", "gid", "etag")}
    return FileInfo(**_entry_fields(wire), **own, target=wire.get("target"))


def suspension_of(sandbox: Object) -> Suspension:
    wire = status_of(sandbox).get("suspension") or {}
    return Suspension(
        depth=wire.get("depth"),
        restored=wire.get("restored"),
        epoch=wire.get("epoch"),
        size_bytes=wire.get("sizeBytes"),
        time=optional_time(wire.get("time")),
    )


def sandbox_status_of(sandbox: Object) -> SandboxStatus:
    ready = current_condition(sandbox, "Ready") or {}
    common: dict[str, Any] = {
        "addresses": tuple(status_of(sandbox).get("podIPs") or ()),
        "expires_at": optional_time(spec_of(sandbox).get("shutdownTime")),
        "suspension": suspension_of(sandbox),
    }
    if spec_of(sandbox).get("operatingMode") == "Suspended":
        return SandboxStatus("Suspended", **common)
    state = is_ready(sandbox).state
    if state == "done":
        return SandboxStatus("Ready", **common)
    return SandboxStatus("Failed" if state == "failed" else "Starting", ready.get("reason"), ready.get("message"), **common)


def listed_of(sandbox: Object, namespace: str) -> ListedSandbox:
    metadata = metadata_of(sandbox)
    return ListedSandbox(
        name=metadata.get("name", ""),
        namespace=namespace,
        labels=metadata.get("labels") or {},
        created_at=optional_time(metadata.get("creationTimestamp")),
        status=sandbox_status_of(sandbox),
    )


def usage_of(wire: Object) -> Usage:
    return Usage(
        cpu_seconds=wire["cpu"]["used_seconds"],
        memory_bytes=wire["memory"]["used_bytes"],
        processes=wire["processes"]["count"],
        disk_bytes=wire["disk"]["used_bytes"],
        memory_limit_bytes=wire["memory"].get("limit_bytes"),
    )

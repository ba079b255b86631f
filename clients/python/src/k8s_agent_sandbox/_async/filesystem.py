"""Files of a sandbox, with the reference's methods and the native ones."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable
from typing import Any, BinaryIO, Protocol
from urllib.parse import quote

from .._aio import Stream, run_blocking
from .._reference.content import (
    CHUNK_BYTES,
    check_limit,
    check_written,
    declared_size,
    form_around,
    legacy_entries,
    read_chunk,
    safe_path,
    sandboxd_endpoint,
    sandboxd_entries,
    too_large,
    whole_or_stream,
)
from .._reference.results import is_without_sandboxd, legacy_result, span_now
from ..exceptions import SandboxError
from ..models import FileEntry
from ..trace_manager import async_trace_span
from .commands import AsyncCommands
from .connector import AsyncSandboxConnector
from .files import AsyncFiles


class AsyncBinaryWriter(Protocol):
    """Where a download goes. `write` returns how many bytes it has taken."""

    def write(self, content: bytes) -> Awaitable[int]: ...


class AsyncFilesystem(AsyncFiles):
    """Reads and writes files of a sandbox."""

    def __init__(self, connector: AsyncSandboxConnector, tracer: Any, trace_service_name: str) -> None:
        super().__init__(connector.router, connector.target)
        self.connector = connector
        self.tracer = tracer
        self.trace_service_name = trace_service_name
        #: The directory of the legacy runtime, seen from the root of sandboxd.
        self._base: str | None = None

    @async_trace_span("write")
    async def write(  # type: ignore[override]
        self, path: str, content: bytes | str | BinaryIO, timeout: float = 60, allow_unsafe_paths: bool = False
    ) -> None:
        """Replaces a file. A file object is read from its position and sent once."""
        data = whole_or_stream(content)
        span = span_now(self.tracer)
        span.set_attribute("sandbox.file.path", path)
        if isinstance(data, bytes):
            span.set_attribute("sandbox.file.size", len(data))
        name = path if allow_unsafe_paths else safe_path(path)
        if self.connector.is_sandboxd():
            body = data if isinstance(data, bytes) else self._read(b"", data, b"")
            headers = {"Content-Type": "application/octet-stream"}
            await self.connector.send_request("PUT", sandboxd_endpoint(name), content=body, headers=headers, timeout=timeout)
            return
        head, tail, content_type = form_around(name)
        form = head + data + tail if isinstance(data, bytes) else self._read(head, data, tail)
        await self.connector.send_request("POST", "upload", content=form, headers={"Content-Type": content_type}, timeout=timeout)

    async def _read(self, head: bytes, file: BinaryIO, tail: bytes) -> Stream[bytes]:
        if head:
            yield head
        while chunk := await run_blocking(lambda: read_chunk(file)):
            yield chunk
        if tail:
            yield tail

    @async_trace_span("read")
    async def read(self, path: str, timeout: float = 60, allow_unsafe_paths: bool = False) -> bytes:  # type: ignore[override]
        """Returns the content of a file."""
        span = span_now(self.tracer)
        span.set_attribute("sandbox.file.path", path)
        response = await self.connector.send_request("GET", self._source(path, allow_unsafe_paths), timeout=timeout)
        span.set_attribute("sandbox.file.size", len(response.content))
        return response.content

    @async_trace_span("read_to")
    async def read_to(
        self,
        path: str,
        destination: AsyncBinaryWriter,
        timeout: float = 60,
        allow_unsafe_paths: bool = False,
        max_bytes: int | None = None,
    ) -> int:
        """Copies a file to a destination, which is not closed, and returns its size.

        A file that is larger than `max_bytes` raises RuntimeError; that many bytes are written then. `timeout` limits each wait.
        """
        if not callable(getattr(destination, "write", None)):
            raise TypeError("Cannot store the file: the destination has no method write")
        check_limit(max_bytes)
        span = span_now(self.tracer)
        span.set_attribute("sandbox.file.path", path)
        source = self._source(path, allow_unsafe_paths)
        response = await self.connector.send_request("GET", source, timeout=timeout, stream=True)
        total = 0
        try:
            if max_bytes is not None and declared_size(response.headers.get("Content-Length")) > max_bytes:
                raise too_large(max_bytes)
            async for chunk in response.aiter_bytes(CHUNK_BYTES):
                rest = chunk if max_bytes is None else chunk[: max_bytes - total]
                total += len(rest)
                is_too_large = len(rest) < len(chunk)
                while rest:
                    rest = rest[check_written(await destination.write(rest), len(rest)) :]
                if is_too_large and max_bytes is not None:
                    raise too_large(max_bytes)
        finally:
            await response.aclose()
        span.set_attribute("sandbox.file.size", total)
        return total

    @async_trace_span("list")
    async def list(self, path: str = "", timeout: float = 60) -> builtins.list[FileEntry]:  # type: ignore[override]
        """Returns the files and directories in a directory."""
        span = span_now(self.tracer)
        span.set_attribute("sandbox.file.path", path)
        is_sandboxd = self.connector.is_sandboxd()
        endpoint = sandboxd_endpoint(path) if is_sandboxd else f"list/{quote(path, safe='')}"
        response = await self.connector.send_request("GET", endpoint, timeout=timeout)
        try:
            listing = response.json()
        except ValueError as error:
            raise RuntimeError(f"The sandbox sent an invalid listing: {response.text[:200]}") from error
        entries = sandboxd_entries(listing) if is_sandboxd else legacy_entries(listing)
        span.set_attribute("sandbox.file.count", len(entries))
        return entries

    @async_trace_span("exists")
    async def exists(self, path: str, timeout: float = 60) -> bool:  # type: ignore[override]
        """Whether there is a file or directory of this name."""
        span = span_now(self.tracer)
        span.set_attribute("sandbox.file.path", path)
        if self.connector.is_sandboxd():
            endpoint = sandboxd_endpoint(path)
            response = await self.connector.send_request("HEAD", endpoint, timeout=timeout, allowed_statuses={404})
            found = response.status_code != 404
        else:
            response = await self.connector.send_request("GET", f"exists/{quote(path, safe='')}", timeout=timeout)
            try:
                found = bool(response.json().get("exists", False))
            except (ValueError, AttributeError) as error:
                raise RuntimeError(f"The sandbox sent an invalid answer: {response.text[:200]}") from error
        span.set_attribute("sandbox.file.exists", found)
        return found

    @async_trace_span("delete")
    async def delete(self, path: str, recursive: bool = False, timeout: float = 60) -> None:
        """Deletes a file or an empty directory, with `recursive` a directory and its content. Needs sandboxd in the sandbox."""
        span_now(self.tracer).set_attribute("sandbox.file.path", path)
        if path == "":
            raise ValueError("The path is empty")
        if self.connector.is_sandboxd():
            query = "?recursive=true" if recursive else ""
            await self.connector.send_request("DELETE", sandboxd_endpoint(path) + query, timeout=timeout)
            return
        try:
            await self.remove(await self._from_root(path), recursive=recursive, timeout=timeout)
        except SandboxError as error:
            if not is_without_sandboxd(error):
                raise
            raise NotImplementedError("delete needs sandboxd, and this sandbox has only the legacy runtime") from error

    async def _from_root(self, path: str) -> str:
        """The path for sandboxd, which may serve another directory than the legacy runtime. Each starts commands in its own."""
        if self._base is None:
            reply = await self.connector.send_request("POST", "execute", json={"command": "pwd"})
            base, root = legacy_result(reply).stdout.rstrip("\n"), await self._root()
            if not f"{base}/".startswith(root):
                raise NotImplementedError(f'delete cannot reach "{base}": sandboxd serves "{root}"')
            self._base = base[len(root) :].strip("/")
        return f"{self._base}/{path.lstrip('/')}"

    async def _root(self) -> str:
        result = await AsyncCommands(self.connector.router, self.connector.target).run(["pwd"])
        return result.stdout.rstrip("\n").rstrip("/") + "/"

    def _source(self, path: str, allow_unsafe_paths: bool) -> str:
        name = path if allow_unsafe_paths else safe_path(path)
        return sandboxd_endpoint(name) if self.connector.is_sandboxd() else f"download/{quote(name, safe='')}"

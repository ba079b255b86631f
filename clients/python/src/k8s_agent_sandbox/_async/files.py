from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any

from .._aio import Pieces, Stream, traced
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity
from .._core.parse import entry_of, file_info_of, tree_entry_of
from .._core.results import FileChange, FileEntry, FileInfo, TreeEntry
from .._core.wire import KEEP_ALIVE_SECONDS, bytes_of, encode_path
from ..exceptions import SandboxArgumentError, SandboxError
from .http import AsyncResponse
from .rest import AsyncRest, json_lines
from .router import AsyncRouter

#: The content of a file. Pieces can be sent only once, so a write of them is not repeated after a lost connection.
FileContent = str | bytes | bytearray | memoryview | Pieces

#: A transfer may take long. It ends when nothing moves for three minutes.
_TRANSFER_TIMEOUT = 24 * 3600.0
_DEFAULT_TIMEOUT = 60.0
_PAGE_SIZE = 10_000


class AsyncFiles:
    """Reads and writes files in a sandbox. Relative paths start at the root that the runtime serves."""

    def __init__(self, router: AsyncRouter, target: SandboxIdentity) -> None:
        self._rest = AsyncRest(router, target)

    @traced("read")
    async def read(self, path: str, *, first: int | None = None, last: int | None = None, timeout: float | None = None) -> bytes:
        """The content, or its bytes `first` to `last`, both included. Without `last`: to the end."""
        return await (await self._download(path, first, last, timeout, is_whole=True)).read()

    async def read_text(self, path: str, *, timeout: float | None = None) -> str:
        """The content as UTF-8. Invalid bytes are replaced."""
        return (await self.read(path, timeout=timeout)).decode("utf-8", "replace")

    async def read_stream(
        self, path: str, *, first: int | None = None, last: int | None = None, timeout: float | None = None
    ) -> Stream[bytes]:
        """The content in pieces. Ending the iteration early ends the transfer."""
        response = await self._download(path, first, last, timeout, is_whole=False)
        try:
            async for piece in response.pieces():
                yield piece
        finally:
            await response.close()

    @traced("write")
    async def write(
        self,
        path: str,
        content: FileContent,
        *,
        mode: str | None = None,
        if_match: str | None = None,
        create_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Replaces a file at once: readers see the old or the new content. Creates parent directories.

        `mode` is as in ``0755``; by default that of the existing file, or 0644. With `if_match`, writes only if the file
        still has this etag; ``*`` means that it must exist. With `create_only`, fails if the file exists.
        """
        headers = []
        if if_match is not None:
            headers.append(("if-match", if_match))
        if create_only:
            headers.append(("if-none-match", "*"))
        # A repeated write with a condition would find its own effect.
        await self._upload(path, content, {"mode": mode}, headers, timeout, is_repeatable=not headers)

    @traced("append")
    async def append(self, path: str, content: FileContent, *, timeout: float | None = None) -> None:
        """Adds to the end of a file, which is created if it does not exist."""
        await self._upload(path, content, {"append": True}, [], timeout, is_repeatable=False)

    @traced("list")
    async def list(self, path: str = ".", *, timeout: float | None = None) -> builtins.list[FileEntry]:
        """The entries of a directory, sorted by name."""
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f'Cannot list "{path}"')
        entries: builtins.list[FileEntry] = []
        after: str | None = None
        while True:
            query = {"limit": _PAGE_SIZE, "after": after}
            # A file may be large, so it is not read before its type is known.
            response = await self._rest.call(deadline, "GET", f"/files/{encode_path(path)}", query=query, is_whole=False)
            if response.header("x-file-mode") is not None:
                await response.close()
                raise SandboxArgumentError(f"{deadline.doing}: it is not a directory")
            page = (await response.json()).get("entries") or []
            entries.extend(entry_of(wire) for wire in page)
            if response.header("x-more-entries") != "true" or not page:
                return entries
            after = page[-1]["name"]

    async def tree(
        self, path: str = ".", *, depth: int | None = None, match: str | None = None, timeout: float | None = None
    ) -> Stream[TreeEntry]:
        """Everything below a directory, with paths."""
        deadline = Deadline(timeout, _TRANSFER_TIMEOUT, f'Cannot list "{path}"')
        query = {"depth": depth, "match": match}
        response = await self._rest.call(deadline, "GET", f"/tree/{encode_path(path)}", query=query, is_whole=False)
        try:
            async for line in json_lines(response):
                if line.get("error"):
                    raise SandboxError(f"{deadline.doing}: {line['error'].get('message')}")
                yield tree_entry_of(line)
        finally:
            await response.close()

    @traced("stat")
    async def stat(self, path: str, *, follow_links: bool = True, timeout: float | None = None) -> FileInfo:
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f'Cannot stat "{path}"')
        query = {"follow": None if follow_links else False}
        return file_info_of(await self._rest.json(deadline, "GET", f"/stat/{encode_path(path)}", query=query))

    @traced("exists")
    async def exists(self, path: str, *, timeout: float | None = None) -> bool:
        try:
            await self.stat(path, timeout=timeout)
        except SandboxError as error:
            is_missing = error.reason == "NotFound" and error.status == 404 and error.server_reason == "NOT_FOUND"
            if not is_missing:
                raise
            return False
        return True

    @traced("delete")
    async def remove(self, path: str, *, recursive: bool = False, timeout: float | None = None) -> None:
        """Deletes a file, a link or an empty directory; with `recursive` also a directory with its content."""
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f'Cannot delete "{path}"')
        query: dict[str, int | None] = {"recursive": True if recursive else None}
        await (await self._rest.call(deadline, "DELETE", f"/files/{encode_path(path)}", query=query)).read()

    @traced("make_dir")
    async def make_dir(self, path: str, *, mode: str | None = None, timeout: float | None = None) -> None:
        """Creates a directory and its parents."""
        await self._action(f'Cannot create directory "{path}"', "mkdir", {"path": path, "mode": mode}, timeout)

    @traced("move")
    async def move(self, source: str, to: str, *, replace: bool = False, timeout: float | None = None) -> None:
        fields = {"from": source, "to": to, "replace": replace or None}
        await self._action(f'Cannot move "{source}"', "move", fields, timeout)

    @traced("copy")
    async def copy(self, source: str, to: str, *, replace: bool = False, timeout: float | None = None) -> None:
        fields = {"from": source, "to": to, "replace": replace or None}
        await self._action(f'Cannot copy "{source}"', "copy", fields, timeout)

    @traced("chmod")
    async def chmod(self, path: str, mode: str, *, recursive: bool = False, timeout: float | None = None) -> None:
        fields = {"path": path, "mode": mode, "recursive": recursive or None}
        await self._action(f'Cannot change the mode of "{path}"', "chmod", fields, timeout)

    async def read_archive(self, path: str, *, gzip: bool = False, timeout: float | None = None) -> Stream[bytes]:
        """A directory as a tar archive, in pieces."""
        deadline = Deadline(timeout, _TRANSFER_TIMEOUT, f'Cannot read directory "{path}"')
        query = {"gzip": True if gzip else None}
        response = await self._rest.call(deadline, "GET", f"/archive/{encode_path(path)}", query=query, is_whole=False)
        try:
            async for piece in response.pieces():
                yield piece
        finally:
            await response.close()

    @traced("write_archive")
    async def write_archive(self, path: str, archive: FileContent, *, timeout: float | None = None) -> None:
        """Unpacks a tar archive, compressed with gzip or not, into a directory."""
        deadline = Deadline(timeout, _TRANSFER_TIMEOUT, f'Cannot unpack into "{path}"')
        body = _body_of(archive)
        await (await self._rest.call(deadline, "PUT", f"/archive/{encode_path(path)}", body=body)).read()

    async def watch(
        self, path: str, *, recursive: bool = False, on_ready: Callable[[], object] | None = None
    ) -> Stream[FileChange]:
        """Changes below a path, until the iteration ends. The watch is in place when `on_ready` is called."""
        deadline = Deadline(None, _DEFAULT_TIMEOUT, f'Cannot watch "{path}"')
        query: dict[str, int | None] = {"recursive": True if recursive else None, "keepalive": KEEP_ALIVE_SECONDS}
        response = await self._rest.call(deadline, "GET", f"/watch/{encode_path(path)}", query=query, is_whole=False)
        deadline.disarm()
        try:
            async for event in json_lines(response):
                if event["type"] == "ready":
                    if on_ready is not None:
                        on_ready()
                elif event["type"] != "keepalive":
                    yield FileChange(event["type"], event.get("path", ""))
        finally:
            await response.close()

    @traced("read")
    async def _download(
        self, path: str, first: int | None, last: int | None, timeout: float | None, *, is_whole: bool
    ) -> AsyncResponse:
        deadline = Deadline(timeout, _TRANSFER_TIMEOUT, f'Cannot read "{path}"')
        if last is not None and first is None:
            raise SandboxArgumentError(f"{deadline.doing}: last can be used with first only")
        headers = [] if first is None else [("range", f"bytes={first}-{'' if last is None else last}")]
        return await self._rest.call(deadline, "GET", f"/files/{encode_path(path)}", headers=headers, is_whole=is_whole)

    async def _upload(
        self,
        path: str,
        content: FileContent,
        query: Mapping[str, str | bool | None],
        headers: builtins.list[tuple[str, str]],
        timeout: float | None,
        *,
        is_repeatable: bool,
    ) -> None:
        response = await self._rest.call(
            Deadline(timeout, _TRANSFER_TIMEOUT, f'Cannot write "{path}"'),
            "PUT",
            f"/files/{encode_path(path)}",
            query=query,
            headers=[("content-type", "application/octet-stream"), *headers],
            body=_body_of(content),
            is_repeatable=is_repeatable,
        )
        await response.read()

    async def _action(self, doing: str, action: str, fields: Mapping[str, Any], timeout: float | None) -> None:
        await self._rest.json(Deadline(timeout, _TRANSFER_TIMEOUT, doing), "POST", f"/fs/{action}", json=fields)


def _body_of(content: FileContent) -> bytes | Pieces:
    return bytes_of(content) if isinstance(content, (str, bytes, bytearray, memoryview)) else content

"""Paths and contents of files, for both runtimes."""

from __future__ import annotations

import io
import posixpath
import secrets
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote

from ..models import FileEntry

CHUNK_BYTES = 64 * 1024


def safe_path(path: str) -> str:
    """The path relative to the root of the sandbox. Raises ValueError if it leaves the root or names no file."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in path):
        raise ValueError(f"Path {path!r} has control characters")
    if not path.strip():
        raise ValueError("The path is empty")
    relative = posixpath.normpath(path).lstrip("/")
    if relative in ("", "."):
        raise ValueError(f"Path {path!r} does not name a file")
    if ".." in relative.split("/"):
        raise ValueError(f"Path {path!r} leaves the root of the sandbox")
    return relative


def sandboxd_endpoint(path: str) -> str:
    """The path in the REST API of sandboxd. HTTP clients resolve plain `.` and `..` themselves, so they are encoded too."""
    dots = {".": "%2E", "..": "%2E%2E"}
    return "v1/files/" + "%2F".join(dots.get(name) or quote(name, safe="") for name in path.split("/"))


def whole_or_stream(content: bytes | str | bytearray | memoryview | BinaryIO) -> bytes | BinaryIO:
    """Bytes, or a file object that returns bytes. Raises TypeError for anything else."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if isinstance(content, io.TextIOBase):
        raise TypeError("Cannot write the file: open it in binary mode")
    if not callable(getattr(content, "read", None)):
        raise TypeError(f"Cannot write the file: want text, bytes or a binary file, not {type(content).__name__}")
    return content


def read_chunk(file: BinaryIO) -> bytes:
    chunk: Any = file.read(CHUNK_BYTES)
    if isinstance(chunk, (bytes, bytearray, memoryview)):
        return bytes(chunk)
    raise TypeError(f"Cannot write the file: its read() returns {type(chunk).__name__} instead of bytes")


def form_around(path: str) -> tuple[bytes, bytes, str]:
    """The beginning and the end of a multipart form with one file, and its content type."""
    boundary = secrets.token_hex(16)
    # As browsers escape names of files.
    name = path.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    head = f"--{boundary}\r\n{disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
    return head.encode(), f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def check_limit(max_bytes: int | None) -> None:
    if max_bytes is not None and type(max_bytes) is not int:
        raise ValueError("max_bytes must be an integer or None")
    if max_bytes is not None and max_bytes < 0:
        raise ValueError("max_bytes must not be negative")


def too_large(max_bytes: int) -> RuntimeError:
    return RuntimeError(f"The file is larger than {max_bytes} bytes")


def declared_size(header: str | None) -> int:
    """The size in a Content-Length header, or 0."""
    return int(header) if header is not None and header.isdecimal() else 0


def check_written(count: object, size: int) -> int:
    """How many bytes a destination has taken. Raises OSError if it took none, or more than it got."""
    if not isinstance(count, int) or count <= 0:
        raise OSError("Cannot store the file: the destination takes no more")
    if count > size:
        raise OSError(f"Cannot store the file: the destination reports {count} bytes of {size}")
    return count


def legacy_entries(listing: Any) -> list[FileEntry]:
    """Reads `GET /list` of the legacy runtime. Raises RuntimeError if it is something else."""
    try:
        return [FileEntry.from_legacy(entry) for entry in listing or ()]
    except Exception as error:
        raise RuntimeError(f"The sandbox sent an invalid listing: {str(listing)[:200]}") from error


def sandboxd_entries(listing: Any) -> list[FileEntry]:
    """Reads a directory listing of sandboxd. Types that the model does not have are left out."""
    try:
        entries: Iterator[Any] = iter(listing["entries"] or ())
        return [FileEntry.from_sandboxd(entry) for entry in entries if entry.get("type") in ("file", "directory")]
    except Exception as error:
        raise RuntimeError(f"The sandbox sent an invalid listing: {str(listing)[:200]}") from error

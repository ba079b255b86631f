"""The forms of values in requests and responses."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from ..exceptions import SandboxError

#: How long a stream may be silent before sandboxd sends a keepalive event. The router ends a silent one after three minutes.
KEEP_ALIVE_SECONDS = 60


def bytes_of(data: str | bytes | bytearray | memoryview) -> bytes:
    """A text as UTF-8."""
    return data.encode() if isinstance(data, str) else bytes(data)


def base64_of(data: str | bytes) -> str:
    return base64.b64encode(bytes_of(data)).decode("ascii")


def text_of(encoded: str) -> str:
    return base64.b64decode(encoded).decode("utf-8", "replace")


def duration_of(seconds: float) -> str:
    """A duration in the JSON form of protobuf."""
    return f"{seconds:.3f}s"


def is_finite(seconds: float | None) -> bool:
    return seconds is not None and math.isfinite(seconds)


def encode_path(path: str) -> str:
    """The path as part of a URL.

    HTTP clients resolve `.` and `..` themselves, so this does it first: a path that leaves the root must be an error
    and not another file.
    """
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not names:
                raise SandboxError(f'Cannot use path "{path}": it leaves the root', reason="Forbidden")
            names.pop()
        elif name not in ("", "."):
            names.append(quote(name, safe=""))
    return "/".join(names)


def query_of(query: Mapping[str, str | int | bool | None]) -> str:
    """With a question mark, or empty. Parameters that are None are left out."""
    given = [(name, _word_of(value)) for name, value in query.items() if value is not None]
    return f"?{urlencode(given)}" if given else ""


def _word_of(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_object(text: str) -> dict[str, Any]:
    """Empty if the text is not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


#: A line that is longer does not come from our servers.
_LONGEST_LINE_BYTES = 64 * 1024 * 1024


class JsonLines:
    """Splits a body that has one JSON document per line. A last line without an end is ignored: the connection was lost."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Any]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST_LINE_BYTES:
            raise SandboxError("The server sent a line that is too long")
        for line in lines:
            if line.strip():
                yield json.loads(line)


#: In front of each message: flags, and the length of the message.
_PREFIX_BYTES = 5
_LAST_FLAG = 2
#: Far above what sandboxd sends in one message.
_LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024


def envelope(message: Mapping[str, Any]) -> bytes:
    """A message of a stream of the Connect protocol."""
    body = json.dumps(message).encode()
    return b"\0" + len(body).to_bytes(4, "big") + body


class Envelopes:
    """Splits a stream of the Connect protocol into messages. The last one has `is_last`."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[tuple[bool, Any]]:
        rest = self._rest + chunk
        start = 0
        while len(rest) >= start + _PREFIX_BYTES:
            body = start + _PREFIX_BYTES
            length = int.from_bytes(rest[start + 1 : body], "big")
            if length > _LARGEST_MESSAGE_BYTES:
                raise SandboxError(f"The sandbox sent a message of {length} bytes")
            if len(rest) < body + length:
                break
            yield bool(rest[start] & _LAST_FLAG), json.loads(rest[body : body + length])
            start = body + length
        self._rest = rest[start:]

"""Turns results of the sandbox into text for a model. Everything in them may be hostile, above all their size."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

#: How much more than a result can hold is read, so that the end of long output is in the result too.
MAX_OUTPUT_RATIO = 64

#: Values can contain images, which a result does not show.
MAX_VALUE_CHARACTERS = 64 << 20


def shorten(text: str, limit: int) -> str:
    """Leaves out the middle of a text that is longer than the limit."""
    if len(text) <= limit:
        return text
    notice = f"\n[{len(text) - limit} characters or more are left out here]\n"
    kept = limit - len(notice)
    tail = kept // 3
    return text[: kept - tail] + notice + text[len(text) - tail :]


def text_of_command(result: Any, limit: int) -> str:
    ended = f"Exit code: {result.exit_code}"
    if result.timed_out:
        ended = "The command was killed because its time was over"
    elif result.signal is not None:
        ended = f"The command was ended by signal {result.signal}"
    if result.truncated:
        ended += "\nThe command wrote more output than was kept"
    return _sections(ended, [("stdout", result.stdout), ("stderr", result.stderr)], limit)


def text_of_code(result: Any, limit: int) -> str:
    values = "\n".join(str(value["text/plain"]) for value in result.results if "text/plain" in value)
    error = "" if result.error is None else result.error.traceback or f"{result.error.name}: {result.error.message}"
    sections = [("stdout", result.stdout), ("stderr", result.stderr), ("result", values), ("error", error)]
    return _sections("The code failed" if error else "The code ended", sections, limit)


def text_of_file(content: bytes, offset: int, limit: int) -> str:
    # Each invalid byte becomes one character, so that the length in bytes is still known.
    text = content.decode("utf-8", "surrogateescape")
    if len(text) <= limit:
        return content.decode("utf-8", "replace")
    kept = text[: limit - 100].encode("utf-8", "surrogateescape")
    return f"{kept.decode('utf-8', 'replace')}\n[The file goes on: read it with offset {offset + len(kept)}]"


def text_of_entries(entries: Sequence[Any], limit: int) -> str:
    if not entries:
        return "The directory is empty"
    lines: list[str] = []
    size = 0
    for entry in entries:
        # A name can contain line breaks and control characters.
        name = entry.name if entry.name.isprintable() else json.dumps(entry.name)
        line = f"{entry.type} {entry.size} {name}"
        size += len(line) + 1
        if size > limit - 100:
            return "\n".join([*lines, "[More entries are left out]"])
        lines.append(line)
    return "\n".join(lines)


def _sections(first: str, sections: Sequence[tuple[str, str]], limit: int) -> str:
    """Gives every section the same share, so that none can push out another."""
    used = [(name, text) for name, text in sections if text]
    share = (limit - 200) // max(1, len(used))
    return "\n".join([first, *(f"{name}:\n{shorten(text, share)}" for name, text in used)])


class OutputLimitReached(Exception):
    """Code printed more than a result can hold, so it was interrupted. The message is for the model."""


class Printed:
    """Receives the output of running code, and stops it before the output fills the memory of this program."""

    def __init__(self, limit: int) -> None:
        self._beginning = ""
        self._limit = limit - 100
        self._left = MAX_OUTPUT_RATIO * limit
        self._values_left = MAX_VALUE_CHARACTERS

    def add(self, text: str) -> None:
        self._beginning += text[: self._limit - len(self._beginning)]
        self._left -= len(text)
        if self._left < 0:
            self._stop()

    def add_value(self, value: Mapping[str, Any]) -> None:
        self._values_left -= sum(len(part) if isinstance(part, str) else 100 for part in value.values())
        if self._values_left < 0:
            self._stop()

    def _stop(self) -> None:
        raise OutputLimitReached(f"The code was interrupted because it printed too much. It began with:\n{self._beginning}")

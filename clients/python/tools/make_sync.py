"""Generates the package `_sync` from `_async`, so that both SDKs have one source.

    make_sync.py           writes the files
    make_sync.py --check   exits with 1 if they are not up to date

Only names and keywords change, token by token: `async def` becomes `def`, `await` is dropped, `AsyncX` becomes `X`.
What cannot be translated this way is written by hand, in `_aio.py` and `_blocking.py`.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent / "src/k8s_agent_sandbox"
_SOURCE, _TARGET = _PACKAGE / "_async", _PACKAGE / "_sync"

_HEADER = "# Generated from _async/{name} by tools/make_sync.py: do not edit.\n"

_NAMES = {
    "_aio": "_blocking",
    "_async": "_sync",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "async_kubectl_kubeconfig_args": "kubectl_kubeconfig_args",
    "async_trace_span": "trace_span",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "anext": "next",
    "aclose": "close",
    "handle_async_request": "handle_request",
    "connect_async": "connect",
}

#: In comments and docstrings.
_WORDS = {"async with": "with", "async for": "for", "another task": "another thread"}

#: Types that have no counterpart: `Awaitable[T]` becomes `T`.
_UNWRAPPED = re.compile(r"\bAwaitable\[(\w+)\]")


def translate(source: str) -> str:
    """The same module without `async` and `await`."""
    lines = source.splitlines(keepends=True)
    edits: list[tuple[int, int, int, str]] = []
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        (row, start), (end_row, end) = token.start, token.end
        if token.string in ("async", "await") and token.type in (tokenize.NAME, tokenize.OP):
            # With the space after it.
            edits.append((row, start, following.start[1], ""))
        elif token.type == tokenize.NAME:
            edits.append((row, start, end, _rename(token.string)))
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            for number in range(row, end_row + 1):
                first = start if number == row else 0
                last = end if number == end_row else len(lines[number - 1])
                edits.append((number, first, last, _reword(lines[number - 1][first:last])))
    for row, start, end, text in reversed(edits):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + text + line[end:]
    text = _UNWRAPPED.sub(r"\1", "".join(lines))
    return text.replace("import Awaitable, Callable", "import Callable").replace("from collections.abc import Awaitable\n", "")


def _rename(name: str) -> str:
    return _NAMES.get(name) or re.sub(r"^Async(?=[A-Z])", "", name)


def _reword(text: str) -> str:
    for word, other in _WORDS.items():
        text = text.replace(word, other)
    return re.sub(r"\b(Async[A-Z]\w*|connect_async)\b", lambda found: _rename(found[0]), text)


def main(is_check: bool) -> int:
    wanted = {
        file.name: _HEADER.format(name=file.name) + translate(file.read_text(encoding="utf-8"))
        for file in sorted(_SOURCE.glob("*.py"))
    }
    present = {file.name: file.read_text(encoding="utf-8") for file in _TARGET.glob("*.py")}
    if is_check:
        stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
        for name in stale:
            print(f"_sync/{name} is not up to date: run clients/python/tools/make_sync.py", file=sys.stderr)
        return 1 if stale else 0
    _TARGET.mkdir(exist_ok=True)
    for name in present.keys() - wanted.keys():
        (_TARGET / name).unlink()
    for name, text in wanted.items():
        if present.get(name) != text:
            (_TARGET / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

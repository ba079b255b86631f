from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from .._aio import traced
from .._core.deadline import Deadline
from .._core.results import CodeError, CodeResult, Language
from .._core.wire import KEEP_ALIVE_SECONDS
from ..exceptions import SandboxError, SandboxRequestError
from .rest import AsyncRest, json_lines

_DEFAULT_TIMEOUT = 60.0
#: The server needs time to report that it interrupted the code.
_GRACE = 15.0


class AsyncCodeContext:
    """An interpreter that keeps its variables between calls. The end of an ``async with`` block ends it."""

    def __init__(self, rest: AsyncRest, id: str, language: Language) -> None:
        self.id = id
        self.language = language
        self._rest = rest

    @classmethod
    async def create(
        cls,
        rest: AsyncRest,
        language: Language = "python",
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> Self:
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f"Cannot start {language}")
        fields = {"language": language, "cwd": cwd, "env": None if env is None else dict(env), "user": user}
        found = await rest.json(deadline, "POST", "/contexts", json=fields)
        return cls(rest, found["id"], language)

    @traced("run_code")
    async def run(
        self,
        code: str,
        timeout: float = _DEFAULT_TIMEOUT,
        *,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_result: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> CodeResult:
        """Runs code. When the call is interrupted or takes longer than `timeout` seconds, the code is interrupted.

        The functions are called with each piece of output as soon as it arrives.
        """
        doing = "Cannot run the code"
        # Checks the timeout, too.
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, doing)
        deadline = Deadline(timeout + _GRACE, _DEFAULT_TIMEOUT, doing)
        response = await self._rest.call(
            deadline,
            "POST",
            f"/contexts/{quote(self.id, safe='')}/execute",
            query={"stream": True, "keepalive": KEEP_ALIVE_SECONDS},
            headers=[("content-type", "application/json")],
            body=json.dumps({"code": code, "timeout_seconds": timeout}).encode(),
            is_repeatable=False,
            is_whole=False,
        )
        texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        results: list[Mapping[str, Any]] = []
        error: CodeError | None = None
        is_complete = False
        try:
            async for event in json_lines(response):
                kind, text = event.get("type"), event.get("text", "")
                if kind in ("stdout", "stderr"):
                    hear = on_stdout if kind == "stdout" else on_stderr
                    if hear is not None:
                        hear(text)
                    texts[kind].append(text)
                elif kind in ("result", "display"):
                    if on_result is not None:
                        on_result(event.get("data", {}))
                    results.append(event.get("data", {}))
                elif kind == "error":
                    error = CodeError(event.get("name", ""), event.get("message", ""), event.get("traceback", ""))
                    # The interpreter has ended, and the result is what it left. Older servers send nothing after this.
                    if error.name == "ContextEnded":
                        is_complete = True
                elif kind == "end":
                    is_complete = True
        except SandboxError as lost:
            if lost.reason != "Unreachable":
                raise
            text = f"{doing}: the connection was lost, and the code was interrupted ({lost})"
            raise SandboxRequestError(text, reason="OutcomeUnknown") from lost
        finally:
            await response.close()
        if not is_complete:
            raise SandboxRequestError(f"{doing}: the connection was lost", reason="OutcomeUnknown")
        return CodeResult("".join(texts["stdout"]), "".join(texts["stderr"]), tuple(results), error)

    @traced("close_context")
    async def close(self, *, timeout: float | None = None) -> None:
        """Ends the interpreter and everything it started."""
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f'Cannot end context "{self.id}"')
        await (await self._rest.call(deadline, "DELETE", f"/contexts/{quote(self.id, safe='')}")).read()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

from __future__ import annotations

import base64
import codecs
import math
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

from .._aio import Stream, sleep, traced
from .._core.deadline import Deadline
from .._core.failures import ConnectionLost
from .._core.parse import exit_of
from .._core.results import Exit, Output, TerminalSize
from .._core.wire import base64_of
from ..exceptions import SandboxError
from .rpc import AsyncMessages, AsyncRpc

_DEFAULT_TIMEOUT = 60.0
#: How long the router or the box may be away until a stream is given up.
_RECONNECT_TIMEOUT = 60.0
#: Between two attempts to open a stream.
_PAUSE = 0.1


class AsyncProcess:
    """A process in a sandbox.

    Its output continues after a lost connection, without a gap unless more than 256 KiB were written in the meantime.
    The end of an ``async with`` block kills the process.
    """

    def __init__(self, rpc: AsyncRpc, id: int, messages: AsyncMessages) -> None:
        #: Unique in the sandbox.
        self.id = id
        self._rpc = rpc
        self._messages = messages
        self._offset = 0
        self._exit: Exit | None = None
        self._is_disconnected = False

    @classmethod
    async def open(cls, rpc: AsyncRpc, doing: str, method: Literal["Start", "Attach"], message: Mapping[str, Any]) -> Self:
        """Starts a process or attaches to one."""
        messages, id = await _open(rpc, doing, method, message)
        return cls(rpc, id, messages)

    @property
    def offset(self) -> int:
        """The offset of the next byte of output, for `commands.attach`."""
        return self._offset

    async def output(self) -> Stream[Output]:
        """The output until the process ends. Can be iterated once."""
        decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        while (event := await self._next()) is not None:
            stream: Literal["stdout", "stderr"] = "stdout" if "stdout" in event else "stderr"
            data = base64.b64decode(event[stream])
            yield Output(stream, decoders[stream].decode(data), data)

    @traced("wait")
    async def wait(self, timeout: float | None = None) -> Exit:
        """Waits until the process has ended. Without a timeout, as long as it takes."""
        if self._exit is None:
            deadline = Deadline(timeout, math.inf, f"Cannot wait for process {self.id}")
            found = await self._rpc.unary(deadline, "Wait", {"processId": self.id})
            self._exit = exit_of(found.get("exit") or {})
        return self._exit

    async def write(self, data: str | bytes, timeout: float | None = None) -> None:
        """Writes to the standard input. Repeated after a lost connection only if the sandbox has not received it."""
        await self._call("WriteStdin", {"input": base64_of(data)}, timeout, is_repeatable=False)

    async def close_input(self, timeout: float | None = None) -> None:
        """Closes the standard input. On a terminal, this types the end-of-transmission character."""
        await self._call("WriteStdin", {"eof": {}}, timeout, is_repeatable=False)

    async def kill(self, signal: str = "SIGKILL", timeout: float | None = None) -> None:
        """Sends a signal to the process and all its descendants. Names are those of ``kill -l``, with ``SIG``."""
        message = {"signal": f"SIGNAL_{signal}", "scope": "SIGNAL_SCOPE_TREE"}
        await self._call("SendSignal", message, timeout, is_repeatable=signal == "SIGKILL")

    async def resize(self, size: TerminalSize, timeout: float | None = None) -> None:
        """Changes the size of the terminal."""
        await self._call("ResizeTTY", {"cols": size.cols, "rows": size.rows}, timeout, is_repeatable=True)

    async def disconnect(self) -> None:
        """Ends the stream of output. The process goes on as `keep_running_seconds` says."""
        self._is_disconnected = True
        await self._messages.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._exit is None:
                await self.kill()
        except SandboxError as problem:
            # It has ended meanwhile. If the block has failed, its own error matters more.
            if problem.reason not in ("NotFound", "Conflict") and error is None:
                raise
        finally:
            await self.disconnect()

    async def _next(self) -> dict[str, Any] | None:
        """The next event with output. None at the end. Reads on after a lost connection."""
        while True:
            try:
                event = await self._messages.next()
            except (ConnectionLost, SandboxError) as error:
                if self._is_disconnected:
                    text = f"Cannot read the output of process {self.id}: it was disconnected"
                    raise SandboxError(text, reason="Conflict") from error
                if not _is_lost(error):
                    raise
                await self._reattach()
                continue
            if event is None:
                return None
            if "offset" in event:
                self._offset = int(event["offset"])
            if "exit" in event:
                self._exit = exit_of(event["exit"])
            elif "stdout" in event or "stderr" in event:
                return dict(event)

    async def _reattach(self) -> None:
        message = {"processId": self.id, "fromOffset": str(self._offset)}
        doing = f"Cannot read the output of process {self.id}"
        self._messages, _ = await _open(self._rpc, doing, "Attach", message)

    async def _call(self, method: str, message: dict[str, Any], timeout: float | None, *, is_repeatable: bool) -> None:
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f"Cannot reach process {self.id}")
        await self._rpc.unary(deadline, method, {"processId": self.id, **message}, is_repeatable=is_repeatable)


async def _open(rpc: AsyncRpc, doing: str, method: str, message: Mapping[str, Any]) -> tuple[AsyncMessages, int]:
    """Opens a stream and reads the id of the process. Tries again if the connection is lost before that."""
    now = time.monotonic()
    started_at: float | None = None
    limit = Deadline(None, _RECONNECT_TIMEOUT, doing)
    while True:
        # The deadline of the stream ends with its opening.
        deadline = Deadline(max(limit.remaining, 0.001), _RECONNECT_TIMEOUT, doing)
        messages = await rpc.stream(deadline, method, message, started_at)
        try:
            first = await messages.next()
        except ConnectionLost:
            await messages.disconnect()
            limit.check()
            await sleep(_PAUSE)
            started_at = now
            continue
        except BaseException:
            await messages.disconnect()
            raise
        id = ((first or {}).get("init") or {}).get("processId")
        if id is None:
            await messages.disconnect()
            raise SandboxError(f"{doing}: the sandbox sent no process id")
        return messages, id


def _is_lost(error: Exception) -> bool:
    """The connection was lost, or the router gave up on a process that wrote nothing."""
    return isinstance(error, ConnectionLost) or getattr(error, "server_reason", None) == "unavailable"

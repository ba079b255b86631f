"""Calls of `process.v1.ProcessService` with the Connect protocol, which works over any HTTP client."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from .._core.deadline import Deadline
from .._core.failures import ConnectionLost
from .._core.identity import SandboxIdentity
from .._core.responses import Refusal, rpc_error
from .._core.wire import Envelopes, envelope, parse_object
from ..exceptions import SandboxError
from .http import AsyncResponse
from .router import AsyncRouter, AsyncRouterCall

_PORT = 9090


class AsyncRpc:
    def __init__(self, router: AsyncRouter, target: SandboxIdentity) -> None:
        self._router = router
        self._target = target

    async def unary(self, deadline: Deadline, method: str, message: Mapping[str, Any], *, is_repeatable: bool = True) -> Any:
        body = json.dumps(message).encode()
        response = await self._send(deadline, method, "application/json", body, is_repeatable)
        return await response.json()

    async def stream(
        self, deadline: Deadline, method: str, message: Mapping[str, Any], started_at: float | None = None
    ) -> AsyncMessages:
        """The deadline is for opening the stream. `started_at` is the time of an earlier attempt."""
        body = envelope(message)
        response = await self._send(deadline, method, "application/connect+json", body, True, started_at, False)
        deadline.disarm()
        return AsyncMessages(response, deadline.doing)

    async def _send(
        self,
        deadline: Deadline,
        method: str,
        content_type: str,
        body: bytes,
        is_repeatable: bool,
        started_at: float | None = None,
        is_whole: bool = True,
    ) -> AsyncResponse:
        def refuse(refusal: Refusal) -> SandboxError:
            return rpc_error(parse_object(refusal.body), refusal.status, deadline.doing)

        return await self._router.request(
            self._target,
            AsyncRouterCall(
                deadline=deadline,
                port=_PORT,
                method="POST",
                path=f"/process.v1.ProcessService/{method}",
                headers=[("content-type", content_type), ("connect-protocol-version", "1")],
                body=body,
                is_repeatable=is_repeatable,
                refuse=refuse,
                started_at=started_at,
                is_whole=is_whole,
            ),
        )


class AsyncMessages:
    """The messages of a stream. It ends without an error only if it is complete."""

    def __init__(self, response: AsyncResponse, doing: str) -> None:
        self._response = response
        self._doing = doing
        self._envelopes = Envelopes()
        self._waiting: deque[tuple[bool, Any]] = deque()

    async def next(self) -> Any:
        """None at the end. Raises ConnectionLost if the stream is not complete."""
        while not self._waiting:
            piece = await self._response.next_piece()
            if piece is None:
                raise ConnectionLost(True, "the stream has no end")
            self._waiting.extend(self._envelopes.feed(piece))
        is_last, message = self._waiting.popleft()
        if not is_last:
            return message
        await self._response.close()
        if message.get("error"):
            raise rpc_error(message["error"], None, self._doing)
        return None

    async def disconnect(self) -> None:
        await self._response.disconnect()

"""Calls of the REST API of sandboxd."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from typing import Any

from .._aio import Pieces, Stream
from .._core.deadline import Deadline
from .._core.failures import ConnectionLost
from .._core.identity import SandboxIdentity, new_request_id
from .._core.responses import Refusal, rest_error
from .._core.wire import JsonLines, query_of
from ..exceptions import SandboxError
from .http import AsyncResponse
from .router import AsyncRouter, AsyncRouterCall

_PORT = 8080


class AsyncRest:
    def __init__(self, router: AsyncRouter, target: SandboxIdentity) -> None:
        self._router = router
        self._target = target

    async def call(
        self,
        deadline: Deadline,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | bool | None] | None = None,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | Pieces | None = None,
        is_repeatable: bool = True,
        is_whole: bool = True,
    ) -> AsyncResponse:
        """`path` is below ``/v1``. `is_repeatable` is false for calls that the runtime does not recognise by their id."""

        def refuse(refusal: Refusal) -> SandboxError:
            return rest_error(refusal, deadline.doing)

        own = [] if method in ("GET", "HEAD") else [("x-request-id", new_request_id())]
        return await self._router.request(
            self._target,
            AsyncRouterCall(
                deadline=deadline,
                port=_PORT,
                method=method,
                path=f"/v1{path}{query_of(query or {})}",
                headers=[*own, *headers],
                body=body,
                is_repeatable=is_repeatable,
                is_whole=is_whole,
                refuse=refuse,
            ),
        )

    async def json(
        self,
        deadline: Deadline,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | bool | None] | None = None,
        json: Mapping[str, Any] | None = None,
    ) -> Any:
        """Fields of `json` that are None are left out."""
        if json is None:
            return await (await self.call(deadline, method, path, query=query)).json()
        given = {name: value for name, value in json.items() if value is not None}
        headers = [("content-type", "application/json")]
        body = jsonlib.dumps(given).encode()
        return await (await self.call(deadline, method, path, query=query, headers=headers, body=body)).json()


async def json_lines(response: AsyncResponse) -> Stream[Any]:
    """The JSON documents of a body that has one per line. Ending the iteration early closes the connection."""
    lines = JsonLines()
    try:
        while (piece := await response.next_piece()) is not None:
            for document in lines.feed(piece):
                yield document
    except ConnectionLost as lost:
        raise response.lost(lost) from lost
    finally:
        await response.close()

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from .._aio import Pieces
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity
from .._core.responses import Refusal, Refuse, router_error
from .._kube.credentials import Credential
from ..exceptions import SandboxError, SandboxRequestError
from .authorize import AsyncAuthorizer
from .http import AsyncHttp, AsyncRequest, AsyncResponse
from .retry import retry


class AsyncRouterCall(NamedTuple):
    deadline: Deadline
    port: int
    method: str
    #: Path and query.
    path: str
    is_repeatable: bool
    refuse: Refuse
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | Pieces | None = None
    #: Whether the body of the response is read at once. If it is not complete, the call is repeated.
    is_whole: bool = True
    #: Of a call that was attempted before: when, in the time of ``time.monotonic``.
    started_at: float | None = None


class AsyncRouter:
    """Sends requests to sandboxes. Wakes those that sleep."""

    def __init__(self, http: AsyncHttp, authorizer: AsyncAuthorizer | None) -> None:
        self._http = http
        self._authorizer = authorizer

    @property
    def url(self) -> str:
        return self._http.url

    async def request(self, target: SandboxIdentity, call: AsyncRouterCall) -> AsyncResponse:
        """Returns a successful response."""
        routing = [
            ("x-sandbox-id", target.name),
            ("x-sandbox-namespace", target.namespace),
            ("x-sandbox-port", str(call.port)),
        ]
        if target.uid is not None:
            routing.append(("x-sandbox-uid", target.uid))

        def refuse(refusal: Refusal) -> SandboxError:
            return router_error(refusal, call.deadline.doing) or call.refuse(refusal)

        return await self._repeat([*routing, *call.headers], call, refuse)

    async def control(self, call: AsyncRouterCall) -> AsyncResponse:
        """Calls the API of the router itself."""

        def refuse(refusal: Refusal) -> SandboxError:
            return router_error(refusal, call.deadline.doing) or call.refuse(refusal)

        return await self._repeat([("content-type", "application/json"), *call.headers], call, refuse)

    async def _repeat(self, headers: list[tuple[str, str]], call: AsyncRouterCall, refuse: Refuse) -> AsyncResponse:
        started_at = time.monotonic() if call.started_at is None else call.started_at
        refused: Credential | None = None

        async def attempt(number: int) -> AsyncResponse:
            nonlocal refused
            # A sandbox that has restarted since the first attempt refuses the call: it may have run before.
            is_first = number == 1 and call.started_at is None
            age = [] if is_first else [("x-request-age", str(int((time.monotonic() - started_at) * 1000)))]
            while True:
                credential = None if self._authorizer is None else await self._authorizer.for_router(refused)
                own = [] if credential is None else [("authorization", credential.authorization or "")]
                all_headers = [*headers, *age, *own]
                request = AsyncRequest(call.method, call.path, all_headers, call.deadline, call.body)
                response = await self._http.send(request)
                if response.status < 400:
                    if call.is_whole:
                        await response.load()
                    return response
                reason = response.header("x-sandbox-reason")
                error = refuse(Refusal(response.status, await response.error_text(), reason))
                # A token may have been renewed since it was read. A stream was consumed by the first attempt.
                if error.reason != "Unauthenticated" or refused is not None or credential is None or is_stream:
                    raise error
                refused = credential

        is_stream = call.body is not None and not isinstance(call.body, bytes)
        is_read = call.method in ("GET", "HEAD")
        is_repeatable = call.is_repeatable and not is_stream
        return await retry(attempt, call.deadline, is_repeatable=is_repeatable, is_read=is_read)


def refuse_unknown(refusal: Refusal) -> SandboxError:
    """For responses that the router itself cannot have sent."""
    return SandboxRequestError(f"The router answered {refusal.status}", status=refusal.status, body=refusal.body)

"""The error of requests that a router or a sandbox has refused."""

from __future__ import annotations

from typing import Any

from .._core.responses import Refusal, router_error
from ..exceptions import ErrorReason, SandboxRequestError

_REASONS: dict[int, ErrorReason] = {
    400: "InvalidArgument",
    401: "Unauthenticated",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    413: "LimitExceeded",
    429: "LimitExceeded",
}


def refused_request(refusal: Refusal, response: Any, doing: str) -> SandboxRequestError:
    known = router_error(refusal, doing)
    return SandboxRequestError(
        str(known) if known is not None else f"{doing}: it answered {refusal.status}: {refusal.body[:200]}",
        status_code=refusal.status,
        response=response,
        reason=known.reason if known is not None else _REASONS.get(refusal.status, "Internal"),
        server_reason=refusal.router_reason,
        body=refusal.body,
    )

"""Unsuccessful responses of the API server, the router and sandboxd as errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..exceptions import (
    ErrorReason,
    SandboxError,
    SandboxNotFoundError,
    SandboxRequestError,
    SnapshotNotFoundError,
)
from .failures import transient
from .wire import parse_object


class Refusal(NamedTuple):
    """An unsuccessful response."""

    status: int
    body: str
    #: The reason that the router has put into its own responses. A sandbox cannot set it.
    router_reason: str | None = None


#: Turns a response of the sandbox into an error. Not called for responses of the router.
Refuse = Callable[[Refusal], SandboxError]

_API_REASONS: dict[int, ErrorReason] = {
    400: "InvalidArgument",
    401: "Unauthenticated",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Conflict",
    413: "LimitExceeded",
    415: "Unsupported",
    422: "InvalidArgument",
}


def api_error(refusal: Refusal, kind: str, doing: str) -> SandboxError:
    """The error of a response of the API server. `kind` is the kind of the object of the request."""
    status = refusal.status
    content = parse_object(refusal.body)
    message, server_reason = _text(content.get("message")), _text(content.get("reason"))
    text = f"{doing}: {message or f'the API server answered {status}'}"
    details: dict[str, Any] = {"status": status, "server_reason": server_reason, "body": refusal.body}
    if status in (429, 503):
        return transient("Unreachable", text, sent=False, **details)
    if status in (500, 502, 504):
        return transient("Unreachable", text, sent=True, **details)
    if server_reason == "AlreadyExists":
        return SandboxRequestError(text, reason="AlreadyExists", **details)
    # Quotas are refused by admission.
    if status == 403 and "exceeded quota" in (message or ""):
        return SandboxRequestError(text, reason="LimitExceeded", **details)
    if status == 404 and kind in _NOT_FOUND:
        return _NOT_FOUND[kind](text, **details)
    return SandboxRequestError(text, reason=_API_REASONS.get(status, "Internal"), **details)


_NOT_FOUND: dict[str, type[SandboxError]] = {
    "Sandbox": SandboxNotFoundError,
    "SandboxClaim": SandboxNotFoundError,
    "SandboxSnapshot": SnapshotNotFoundError,
}

#: The errors of the router itself. The second value is set for failures that may be over soon: whether the call may have had
#: an effect.
_ROUTER_REASONS: dict[str, tuple[ErrorReason, bool | None]] = {
    "InvalidRequest": ("InvalidArgument", None),
    "Unauthenticated": ("Unauthenticated", None),
    "Forbidden": ("Forbidden", None),
    "SandboxNotFound": ("NotFound", None),
    "SandboxSuspended": ("Suspended", None),
    "SandboxExpired": ("NotFound", None),
    "BodyTooLarge": ("LimitExceeded", None),
    "HeadersTooLarge": ("LimitExceeded", None),
    "CallerLimit": ("LimitExceeded", False),
    "SandboxLimit": ("LimitExceeded", False),
    "TooManyWaitingRequests": ("LimitExceeded", False),
    "Refused": ("Unreachable", False),
    "Unreachable": ("Unreachable", False),
    "Unverified": ("Unreachable", False),
    "NotSynced": ("Unreachable", False),
    "BadUpstream": ("Unreachable", True),
    "SandboxStopped": ("Unreachable", True),
    "Timeout": ("TimedOut", True),
    "SandboxStarting": ("Starting", False),
    "Unschedulable": ("Failed", None),
    "ImageUnavailable": ("Failed", None),
    "SandboxCrashing": ("Failed", None),
    "SandboxFinished": ("Failed", None),
    "WakeFailed": ("Failed", None),
}


def router_error(refusal: Refusal, doing: str) -> SandboxError | None:
    """The error of a response of the router itself. None if the response came from the sandbox."""
    server_reason = refusal.router_reason
    if server_reason is None:
        return None
    detail = _text(parse_object(refusal.body).get("detail"))
    text = f"{doing}: {detail or f'the router answered {refusal.status}'}"
    reason, sent = _ROUTER_REASONS.get(server_reason, ("Internal", None))
    details: dict[str, Any] = {"status": refusal.status, "server_reason": server_reason, "body": refusal.body}
    if sent is not None:
        return transient(reason, text, sent=sent, **details)
    kind = SandboxNotFoundError if reason == "NotFound" else SandboxRequestError
    return kind(text, reason=reason, **details)


_REST_REASONS: dict[str, ErrorReason] = {
    "INVALID_ARGUMENT": "InvalidArgument",
    "UNAUTHENTICATED": "Unauthenticated",
    "MISDIRECTED": "NotFound",
    "PERMISSION_DENIED": "Forbidden",
    "NOT_FOUND": "NotFound",
    "CONFLICT": "Conflict",
    "FAILED_PRECONDITION": "Conflict",
    "OUTCOME_UNKNOWN": "OutcomeUnknown",
    "TOO_LARGE": "LimitExceeded",
    "RESOURCE_EXHAUSTED": "LimitExceeded",
    "UNAVAILABLE": "Unreachable",
}

#: A response to HEAD has no body.
_REST_STATUSES: dict[int, ErrorReason] = {403: "Forbidden", 404: "NotFound", 405: "Unsupported", 412: "Conflict"}


def rest_error(refusal: Refusal, doing: str) -> SandboxError:
    """The error of a response of sandboxd's REST API."""
    content = parse_object(refusal.body)
    code, message = _text(content.get("code")), _text(content.get("message"))
    reason = _REST_REASONS.get(code or "") or _REST_STATUSES.get(refusal.status, "Internal")
    # The runtime says itself what it could not do.
    text = message or f"{doing}: the sandbox answered {refusal.status}"
    return SandboxRequestError(text, reason=reason, status=refusal.status, server_reason=code, body=refusal.body)


_RPC_REASONS: dict[str, ErrorReason] = {
    "not_found": "NotFound",
    "invalid_argument": "InvalidArgument",
    "failed_precondition": "Conflict",
    "aborted": "OutcomeUnknown",
    "permission_denied": "Forbidden",
    "unauthenticated": "Unauthenticated",
    "resource_exhausted": "LimitExceeded",
    "deadline_exceeded": "TimedOut",
    "unimplemented": "Unsupported",
    "unavailable": "Unreachable",
}


def rpc_error(content: dict[str, Any], status: int | None, doing: str) -> SandboxError:
    """The error of a response of sandboxd's process service."""
    code, message = _text(content.get("code")), _text(content.get("message"))
    text = f"{doing}: {message or f'the sandbox answered {status}; does it run sandboxd?'}"
    return SandboxRequestError(text, reason=_RPC_REASONS.get(code or "", "Internal"), status=status, server_reason=code)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

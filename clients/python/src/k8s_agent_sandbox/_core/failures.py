from __future__ import annotations

from ..exceptions import ErrorReason, SandboxRequestError


class ConnectionLost(Exception):
    """No response arrived, or it ended early. `sent` says whether the server may have received the request."""

    def __init__(self, sent: bool, cause: BaseException | str) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.sent = sent


class TransientError(SandboxRequestError):
    """A failure that may be over soon. `sent` says whether the call may have had an effect."""

    sent: bool = False


def transient(
    reason: ErrorReason,
    message: str,
    *,
    sent: bool,
    status: int | None = None,
    server_reason: str | None = None,
    body: str | None = None,
) -> TransientError:
    error = TransientError(message, reason=reason, status=status, server_reason=server_reason, body=body)
    error.sent = sent
    return error


def as_transient(error: TransientError | ConnectionLost, doing: str) -> TransientError:
    if isinstance(error, TransientError):
        return error
    failure = transient("Unreachable", f"{doing}: {error}", sent=error.sent)
    failure.__cause__ = error
    return failure


def final(failure: TransientError) -> SandboxRequestError:
    """The error that is reported when the call is not repeated any more."""
    return SandboxRequestError(
        str(failure),
        reason=failure.reason,
        status=failure.status,
        server_reason=failure.server_reason,
        body=failure.body,
    )


def outcome_unknown(failure: TransientError, doing: str) -> SandboxRequestError:
    text = f"{doing}: the connection was lost, and it is not known whether the call had an effect ({failure})"
    return SandboxRequestError(
        text,
        reason="OutcomeUnknown",
        status=failure.status,
        server_reason=failure.server_reason,
        body=failure.body,
    )

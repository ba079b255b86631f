"""What the state of an object means to somebody who waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from ..exceptions import (
    SandboxClaimFailedError,
    SandboxError,
    SandboxTemplateNotFoundError,
    SandboxWarmPoolNotFoundError,
)
from .resources import Object, conditions_of, current_condition, metadata_of, spec_of, status_of


class Verdict(NamedTuple):
    state: Literal["done", "failed", "waiting"]
    #: Why it has failed or has to wait.
    message: str = ""
    server_reason: str | None = None


Judge = Callable[[Object], Verdict]

DONE = Verdict("done")

#: A sandbox or claim with one of these reasons does not become ready by itself.
FINAL_REASONS = frozenset(
    {
        "ClaimExpired",
        "EnvVarsInjectionRejected",
        "InvalidConfiguration",
        "InvalidMetadata",
        "PodFailed",
        "PodSucceeded",
        "SandboxExpired",
        "TemplateNotFound",
        "VolumeClaimTemplatesError",
        "WarmPoolNotFound",
    }
)

#: The sandbox keeps running, because its policy does not let it lose its memory.
_SAVE_REASONS = frozenset(
    {
        "KeyUnavailable",
        "QuotaExceeded",
        "RuntimeCannotSave",
        "RuntimeVersionDiffers",
        "SaveFailed",
        "SourceNotRunning",
        "VolumeNotLocal",
    }
)


def is_ready(sandbox: Object) -> Verdict:
    """Whether a sandbox can be used."""
    if spec_of(sandbox).get("operatingMode") == "Suspended":
        return Verdict("failed", "it is suspended; resume it first")
    return _judge_ready(sandbox, lambda: True)


def is_claimed(claim: Object) -> Verdict:
    """Whether a claim has a sandbox that can be used."""
    return _judge_ready(claim, lambda: bool((status_of(claim).get("sandbox") or {}).get("name")))


def is_taken(snapshot: Object) -> Verdict:
    """Whether a snapshot is complete."""
    for condition in conditions_of(snapshot):
        if condition.get("type") == "Failed" and condition.get("status") == "True":
            return _explain("failed", condition)
    return _judge_ready(snapshot, lambda: True)


def is_suspended(sandbox: Object) -> Verdict:
    """Whether a sandbox that was asked to suspend has done so."""
    suspended = current_condition(sandbox, "Suspended")
    if suspended is not None and suspended.get("status") == "True":
        return DONE
    if spec_of(sandbox).get("operatingMode") != "Suspended":
        return Verdict("failed", "it was resumed meanwhile")
    if suspended is None:
        return Verdict("waiting", "suspending")
    has_failed = suspended.get("status") == "False" and suspended.get("reason") in _SAVE_REASONS
    return _explain("failed" if has_failed else "waiting", suspended)


def failure_of(verdict: Verdict, doing: str) -> SandboxError:
    kind = _BY_REASON.get(verdict.server_reason or "", SandboxClaimFailedError)
    return kind(f"{doing}: {verdict.message}", server_reason=verdict.server_reason)


_BY_REASON: dict[str, type[SandboxError]] = {
    "TemplateNotFound": SandboxTemplateNotFoundError,
    "WarmPoolNotFound": SandboxWarmPoolNotFoundError,
}


def _judge_ready(item: Object, is_complete: Callable[[], bool]) -> Verdict:
    ready = current_condition(item, "Ready")
    if ready is not None and ready.get("status") == "True" and is_complete():
        return DONE
    if metadata_of(item).get("deletionTimestamp") is not None:
        return Verdict("failed", "it is being deleted")
    for condition in conditions_of(item):
        if condition.get("status") == "False" and condition.get("reason") in FINAL_REASONS:
            return _explain("failed", condition)
    return Verdict("waiting", "its controller has not seen it yet") if ready is None else _explain("waiting", ready)


def _explain(state: Literal["failed", "waiting"], condition: Object) -> Verdict:
    reason = condition.get("reason")
    text = condition.get("message") or reason or "not ready"
    message = text if reason is None or text == reason else f"{text} ({reason})"
    return Verdict(state, message, reason)

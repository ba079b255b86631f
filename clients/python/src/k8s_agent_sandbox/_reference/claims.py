"""SandboxClaims of the drop-in: how they are written, and what their state means to somebody who waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .._core.readiness import DONE, Judge, Verdict
from .._core.resources import CLAIMS, REQUEST_ID_ANNOTATION, Object, conditions_of, current_condition, status_of
from ..constants import CLIENT_REQUEST_TIME_ANNOTATION, CREATED_BY_LABEL, TERMINAL_CLAIM_READY_REASONS
from ..models import AdditionalPodMetadata
from ..utils import construct_sandbox_claim_env_spec

_MISSING_PARTS = frozenset({"TemplateNotFound", "WarmPoolNotFound"})


def claim_manifest(
    *,
    name: str,
    namespace: str,
    warmpool: str,
    request_id: str,
    annotations: Mapping[str, str] | None,
    labels: Mapping[str, str] | None,
    lifecycle: Mapping[str, Any] | None,
    volume_claim_templates: Sequence[Mapping[str, Any]] | None,
    pod_metadata: AdditionalPodMetadata | dict[str, Any] | None,
    env: Mapping[str, str] | None,
) -> Object:
    """A claim of a pool. Raises ValueError if the environment or the Pod's metadata are not valid."""
    spec: Object = {"warmPoolRef": {"name": warmpool}}
    if lifecycle:
        spec["lifecycle"] = dict(lifecycle)
    if volume_claim_templates:
        spec["volumeClaimTemplates"] = list(volume_claim_templates)
    if pod_metadata:
        spec["additionalPodMetadata"] = AdditionalPodMetadata.model_validate(pod_metadata).model_dump(exclude_none=True)
    variables = construct_sandbox_claim_env_spec(env)
    if variables:
        spec["env"] = [each.model_dump(by_alias=True, exclude_none=True) for each in variables]
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**(labels or {}), CREATED_BY_LABEL: "python-client"},
            "annotations": {
                CLIENT_REQUEST_TIME_ANNOTATION: datetime.now(UTC).isoformat(),
                **(annotations or {}),
                REQUEST_ID_ANNOTATION: request_id,
            },
        },
        "spec": spec,
    }


def sandbox_name_of(claim: Object) -> str | None:
    """The sandbox that the claim is bound to. The first versions of the API wrote `Name`."""
    bound = status_of(claim).get("sandbox") or {}
    return bound.get("name") or bound.get("Name") or None


def judge_claim(*, needs_ready: bool) -> Judge:
    """Whether a claim has a sandbox, and with `needs_ready` one that can be used."""

    def judge(claim: Object) -> Verdict:
        ready = current_condition(claim, "Ready") or {}
        if sandbox_name_of(claim) and (not needs_ready or ready.get("status") == "True"):
            return DONE
        return _failure_of(claim) or Verdict("waiting", ready.get("message") or "it has no sandbox yet")

    return judge


def judge_sandbox(sandbox: Object) -> Verdict:
    """Whether a Sandbox can be used. One that is suspended may be resumed, so it counts as not ready yet."""
    ready = current_condition(sandbox, "Ready") or {}
    if ready.get("status") == "True":
        return DONE
    return _failure_of(sandbox) or Verdict("waiting", ready.get("message") or "its controller has not seen it yet")


def _failure_of(item: Object) -> Verdict | None:
    for condition in conditions_of(item):
        reason, message = condition.get("reason"), condition.get("message") or condition.get("reason")
        is_final = condition.get("type") == "Ready" and reason in TERMINAL_CLAIM_READY_REASONS | _MISSING_PARTS
        if condition.get("status") == "False" and (is_final or reason == "WarmPoolNotFound"):
            return Verdict("failed", f"{message} ({reason})", reason)
    return None

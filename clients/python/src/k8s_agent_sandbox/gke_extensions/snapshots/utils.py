"""Waits for snapshots and Pods. A `k8s_helper` is a `K8sHelper`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from ..._core.deadline import Deadline
from ..._core.readiness import DONE, Verdict
from ..._core.resources import Object, Resource, conditions_of, metadata_of, spec_of, status_of
from ..._sync.wait import Wait
from ...constants import (
    PODSNAPSHOT_API_GROUP,
    PODSNAPSHOT_API_KIND,
    PODSNAPSHOT_API_VERSION,
    PODSNAPSHOT_NAME_ANNOTATION,
    PODSNAPSHOT_PLURAL,
    PODSNAPSHOTMANUALTRIGGER_API_KIND,
    PODSNAPSHOTMANUALTRIGGER_PLURAL,
)
from ...exceptions import SandboxError

SNAPSHOT_SUCCESS_CODE = 0
SNAPSHOT_ERROR_CODE = 1

_VERSION = f"{PODSNAPSHOT_API_GROUP}/{PODSNAPSHOT_API_VERSION}"
POD_SNAPSHOTS = Resource(_VERSION, PODSNAPSHOT_API_KIND, PODSNAPSHOT_PLURAL)
TRIGGERS = Resource(_VERSION, PODSNAPSHOTMANUALTRIGGER_API_KIND, PODSNAPSHOTMANUALTRIGGER_PLURAL)

_CALL_TIMEOUT = 60.0
_PAUSE = 0.2


class _CoreResource(Resource):
    """A kind of the first API group, which has another path."""

    def path(self, namespace: str, name: str | None = None) -> str:
        return super().path(namespace, name).replace("/apis/", "/api/", 1)


PODS = _CoreResource("v1", "Pod", "pods")


class RestoreCheckResult(BaseModel):
    """Whether a Pod continues from a snapshot."""

    success: bool
    error_reason: str
    error_code: int


class SnapshotResult(BaseModel):
    """A snapshot that is complete."""

    snapshot_uid: str
    snapshot_timestamp: str


def deadline_of(doing: str, timeout: float | None = None) -> Deadline:
    return Deadline(timeout, _CALL_TIMEOUT, f"Cannot {doing}")


def is_missing(error: SandboxError) -> bool:
    return error.reason == "NotFound"


def find(k8s_helper: Any, resource: Resource, namespace: str, name: str) -> Object | None:
    """The object, or None if it does not exist."""
    try:
        found: Object = k8s_helper.api.get(resource, namespace, name, deadline_of(f'get {resource.kind} "{name}"'))
    except SandboxError as error:
        if is_missing(error):
            return None
        raise
    return found


def wait_for_snapshot_to_be_completed(
    k8s_helper: Any, namespace: str, trigger_name: str, podsnapshot_timeout: int, resource_version: str | None = None
) -> SnapshotResult:
    """Waits until the snapshot of a trigger is complete. Raises RuntimeError if it fails, TimeoutError after the timeout."""
    deadline = deadline_of(f'take snapshot "{trigger_name}"', podsnapshot_timeout)
    start = None if resource_version is None else {"metadata": {"resourceVersion": resource_version}}
    wait = Wait(k8s_helper.api, TRIGGERS, namespace, trigger_name, _judge_trigger, deadline)
    trigger = wait.until_done(start)
    triggered = _condition(trigger, "Triggered")
    name = (status_of(trigger).get("snapshotCreated") or {}).get("name")
    if not isinstance(name, str):
        raise RuntimeError(f'Snapshot "{trigger_name}" is complete, but its trigger does not name it')
    return SnapshotResult(snapshot_uid=name, snapshot_timestamp=triggered.get("lastTransitionTime", ""))


def _judge_trigger(trigger: Object) -> Verdict:
    triggered = _condition(trigger, "Triggered")
    status, reason, message = (triggered.get(field) for field in ("status", "reason", "message"))
    if status == "True" and reason == "Complete":
        return DONE
    if status == "False" and reason in ("Failed", "Error"):
        return Verdict("failed", message or "it failed", reason)
    return Verdict("waiting", message or "it has not begun")


def _condition(item: Object, kind: str) -> Object:
    return next((each for each in conditions_of(item) if each.get("type") == kind), {})


def check_pod_restored_from_snapshot(k8s_helper: Any, namespace: str, pod_name: str, snapshot_uid: str) -> RestoreCheckResult:
    """Whether a Pod continues from this snapshot. Failures are part of the result."""
    try:
        problem = _why_not_restored(find(k8s_helper, PODS, namespace, pod_name), snapshot_uid)
    except SandboxError as error:
        problem = str(error)
    code = SNAPSHOT_SUCCESS_CODE if problem == "" else SNAPSHOT_ERROR_CODE
    return RestoreCheckResult(success=problem == "", error_reason=problem, error_code=code)


def _why_not_restored(pod: Object | None, snapshot_uid: str) -> str:
    if pod is None:
        return "The Pod does not exist"
    restored = _condition(pod, "PodRestored")
    message = restored.get("message") or ""
    if not restored:
        return "The Pod was started without the snapshot"
    if restored.get("status") != "True":
        return f"The Pod was not restored: {message or restored.get('reason')}"
    return "" if snapshot_uid in message else f'The Pod was restored from another snapshot than "{snapshot_uid}": {message}'


def wait_for_snapshot_deletion(
    k8s_helper: Any, namespace: str, snapshot_uid: str, timeout: int = 180, resource_version: str | None = None
) -> bool:
    """Whether the snapshot was deleted within the timeout."""
    return _is_gone(k8s_helper, POD_SNAPSHOTS, namespace, snapshot_uid, timeout)


def wait_for_pod_termination(k8s_helper: Any, namespace: str, pod_name: str, pod_uid: str, timeout: int = 180) -> bool:
    """Whether the Pod with this UID has ended within the timeout. Another Pod may have its name by then."""
    return _is_gone(k8s_helper, PODS, namespace, pod_name, timeout, pod_uid)


def _is_gone(k8s_helper: Any, resource: Resource, namespace: str, name: str, timeout: int, uid: str | None = None) -> bool:
    found = find(k8s_helper, resource, namespace, name)
    if found is None or (uid is not None and metadata_of(found).get("uid") != uid):
        return True
    deadline = deadline_of(f'wait for the end of {resource.kind} "{name}"', timeout)
    try:
        Wait(k8s_helper.api, resource, namespace, name, lambda _: Verdict("waiting", "it exists"), deadline).until_done(found)
    except SandboxError as error:
        if error.reason == "Starting":
            return False
        if not is_missing(error):
            raise
    return True


def wait_for_pod_ready(k8s_helper: Any, namespace: str, get_pod_name_func: Callable[[], str | None], timeout: int = 180) -> bool:
    """Whether a Pod that may not exist yet becomes ready within the timeout."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        name = get_pod_name_func()
        pod = find(k8s_helper, PODS, namespace, name) if name else None
        is_new = pod is not None and not metadata_of(pod).get("deletionTimestamp")
        if pod is not None and is_new and _condition(pod, "Ready").get("status") == "True":
            return True
        time.sleep(_PAUSE)
    return False


def wait_for_sandbox_propagation(
    k8s_helper: Any, namespace: str, sandbox_id: str, snapshot_uid: str | None, timeout: int = 30
) -> bool:
    """Whether the Pod template of a Sandbox names this snapshot, or none, within the timeout."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        metadata = metadata_of(spec_of(k8s_helper.get_sandbox(sandbox_id, namespace) or {}).get("podTemplate") or {})
        if (metadata.get("annotations") or {}).get(PODSNAPSHOT_NAME_ANNOTATION) == snapshot_uid:
            return True
        time.sleep(_PAUSE)
    return False


def normalize_datetime(v: Any) -> datetime | None:
    """A time with a time zone, from a `datetime` or an ISO text. Times without a zone are UTC."""
    if v is None:
        return None
    if isinstance(v, str):
        try:
            v = datetime.fromisoformat(v)
        except ValueError:
            raise ValueError(f"{v!r} is not a time in ISO format") from None
    if not isinstance(v, datetime):
        raise TypeError(f"Want a datetime or a text in ISO format, not {type(v).__name__}")
    return v.replace(tzinfo=UTC) if v.utcoffset() is None else v

"""A sandbox that can be saved, suspended and restored with the API of GKE."""

import logging
from typing import Any

from pydantic import BaseModel

from ..._core.resources import SANDBOXES, metadata_of, spec_of
from ...constants import PODSNAPSHOT_NAME_ANNOTATION
from ...exceptions import SandboxError
from ...metrics import (
    sandbox_client_restore_latency_ms,
    sandbox_client_resume_latency_ms,
    sandbox_client_suspend_latency_ms,
)
from ...sandbox import Sandbox
from ...utils import record_latency
from .snapshot_engine import SnapshotEngine, SnapshotResponse
from .utils import (
    PODS,
    check_pod_restored_from_snapshot,
    deadline_of,
    find,
    wait_for_pod_ready,
    wait_for_pod_termination,
    wait_for_sandbox_propagation,
)

SUCCESS_CODE = 0
ERROR_CODE = 1
INTERNAL_ERROR_CODE = 2

OPERATING_MODE_RUNNING = "Running"
OPERATING_MODE_SUSPENDED = "Suspended"

logger = logging.getLogger(__name__)


class SuspendResponse(BaseModel):
    """The result of `suspend`."""

    success: bool
    snapshot_response: SnapshotResponse | None = None
    error_reason: str = ""
    error_code: int = 0


class ResumeResponse(BaseModel):
    """The result of `resume`."""

    success: bool
    restored_from_snapshot: bool | None = None
    snapshot_uid: str | None = None
    error_reason: str = ""
    error_code: int = 0


class RestorationResponse(BaseModel):
    """The result of `restore`."""

    success: bool
    restored_from_snapshot: bool | None = None
    snapshot_uid: str | None = None
    error_reason: str = ""
    error_code: int = 0


class _Problem(Exception):
    """Why an operation failed. The methods turn it into a response."""

    def __init__(self, text: str, code: int = ERROR_CODE) -> None:
        super().__init__(text)
        self.code = code


class SandboxWithSnapshotSupport(Sandbox):
    """A sandbox with snapshots. Its methods report failures in their results."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._snapshots: SnapshotEngine | None = SnapshotEngine(
            namespace=self.namespace,
            k8s_helper=self.k8s_helper,
            get_pod_name_func=self.get_pod_name,
            get_sandbox_name_hash_func=self.get_sandbox_name_hash,
        )

    @property
    def snapshots(self) -> SnapshotEngine | None:
        """The snapshots of this sandbox. None after `terminate`."""
        return self._snapshots

    @property
    def is_active(self) -> bool:
        return super().is_active and self._snapshots is not None

    def is_suspended(self) -> bool:
        """Whether the sandbox was asked to suspend. False if that cannot be found out."""
        try:
            return self._mode() == OPERATING_MODE_SUSPENDED
        except SandboxError as error:
            logger.error("%s", error)
            return False

    def _mode(self) -> str:
        found = self.k8s_helper.get_sandbox(self.sandbox_id, self.namespace) or {}
        return str(spec_of(found).get("operatingMode") or OPERATING_MODE_RUNNING)

    @record_latency(sandbox_client_suspend_latency_ms)
    def suspend(  # type: ignore[override]
        self, snapshot_before_suspend: bool = True, wait_timeout: int = 180
    ) -> SuspendResponse:
        """Suspends the sandbox and waits until its Pod has ended. By default a snapshot is taken first, for `resume`."""
        snapshot: SnapshotResponse | None = None
        try:
            if self._mode() == OPERATING_MODE_SUSPENDED:
                self._skip_latency_metric = True
                return SuspendResponse(success=True)
            if not self.get_sandbox_name_hash():
                raise _Problem("The hash of the sandbox's name is not known")
            if snapshot_before_suspend and self._snapshots is not None:
                snapshot = self._snapshots.create(f"suspend-{self.sandbox_id}")
                if not snapshot.success:
                    raise _Problem(f"Cannot take a snapshot: {snapshot.error_reason}")
            self._suspend(wait_timeout)
        except (SandboxError, _Problem) as error:
            return SuspendResponse(success=False, snapshot_response=snapshot, error_reason=str(error), error_code=ERROR_CODE)
        return SuspendResponse(success=True, snapshot_response=snapshot)

    def _suspend(self, wait_timeout: int) -> None:
        pod_name = self.get_pod_name()
        pod = find(self.k8s_helper, PODS, self.namespace, pod_name)
        self._request_mode(OPERATING_MODE_SUSPENDED)
        uid = metadata_of(pod or {}).get("uid")
        if uid and not wait_for_pod_termination(self.k8s_helper, self.namespace, pod_name, uid, wait_timeout):
            raise _Problem(f"The Pod still runs after {wait_timeout} seconds")

    def _request_mode(self, mode: str) -> None:
        """The Pod of the connection ends, and the next one may have another name."""
        deadline = deadline_of(f'change Sandbox "{self.sandbox_id}"')
        self.k8s_helper.api.patch(SANDBOXES, self.namespace, self.sandbox_id, {"spec": {"operatingMode": mode}}, deadline)
        self.connector.close()
        self._pod_name = None

    @record_latency(sandbox_client_resume_latency_ms)
    def resume(self, wait_timeout: int = 180) -> ResumeResponse:  # type: ignore[override]
        """Resumes the sandbox from its newest snapshot, if it has one, and waits until its Pod is ready."""
        newest: str | None = None
        try:
            if self._mode() != OPERATING_MODE_SUSPENDED:
                self._skip_latency_metric = True
                return ResumeResponse(success=True, restored_from_snapshot=False)
            newest = self._newest_snapshot()
            self._choose_snapshot(None)
            self._start(newest, wait_timeout)
        except (SandboxError, _Problem) as error:
            code = error.code if isinstance(error, _Problem) else ERROR_CODE
            return ResumeResponse(
                success=False, restored_from_snapshot=False, snapshot_uid=newest, error_reason=str(error), error_code=code
            )
        return ResumeResponse(success=True, restored_from_snapshot=newest is not None, snapshot_uid=newest)

    @record_latency(sandbox_client_restore_latency_ms)
    def restore(self, snapshot_uid: str, sandbox_ready_timeout: int = 180) -> RestorationResponse:
        """Resumes a suspended sandbox from one of its snapshots."""
        try:
            if snapshot_uid not in self._snapshot_names():
                raise _Problem(f'This sandbox has no snapshot "{snapshot_uid}"')
            if self._mode() != OPERATING_MODE_SUSPENDED:
                self._skip_latency_metric = True
                raise _Problem("The sandbox is running: suspend it first")
            self._choose_snapshot(snapshot_uid)
            self._start(snapshot_uid, sandbox_ready_timeout)
        except (SandboxError, _Problem) as error:
            code = error.code if isinstance(error, _Problem) else ERROR_CODE
            return RestorationResponse(
                success=False, restored_from_snapshot=False, snapshot_uid=snapshot_uid, error_reason=str(error), error_code=code
            )
        return RestorationResponse(success=True, restored_from_snapshot=True, snapshot_uid=snapshot_uid)

    def _snapshot_names(self) -> list[str]:
        if self._snapshots is None:
            raise _Problem("The sandbox was deleted")
        listed = self._snapshots.list()
        if not listed.success:
            raise _Problem(listed.error_reason)
        return [each.snapshot_uid for each in listed.snapshots]

    def _newest_snapshot(self) -> str | None:
        return next(iter(self._snapshot_names()), None)

    def _choose_snapshot(self, snapshot_uid: str | None) -> None:
        """Names the snapshot on the claim, and waits until the Sandbox has it. None: the newest."""
        if not self.claim_name:
            raise _Problem("The sandbox has no claim")
        body = {"spec": {"additionalPodMetadata": {"annotations": {PODSNAPSHOT_NAME_ANNOTATION: snapshot_uid}}}}
        self.k8s_helper.patch_sandbox_claim(self.claim_name, self.namespace, body)
        if not wait_for_sandbox_propagation(self.k8s_helper, self.namespace, self.sandbox_id, snapshot_uid):
            raise _Problem("The Sandbox does not have the snapshot of its claim", INTERNAL_ERROR_CODE)

    def _start(self, snapshot_uid: str | None, wait_timeout: int) -> None:
        self._request_mode(OPERATING_MODE_RUNNING)
        if not wait_for_pod_ready(self.k8s_helper, self.namespace, self.get_pod_name, wait_timeout):
            raise _Problem(f"The Pod is not ready after {wait_timeout} seconds")
        if snapshot_uid is not None:
            pod_name = self.get_pod_name()
            check = check_pod_restored_from_snapshot(self.k8s_helper, self.namespace, pod_name, snapshot_uid)
            if not check.success:
                raise _Problem(f"The Pod is ready, but not restored: {check.error_reason}")

    def terminate(self) -> None:
        """Deletes the triggers of this handle's snapshots, and the sandbox. Snapshots are kept."""
        try:
            if self._snapshots is not None:
                self._snapshots.delete_manual_triggers()
        finally:
            super().terminate()
            self._snapshots = None

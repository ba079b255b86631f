"""Snapshots of one sandbox."""

import builtins
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from ..._core.identity import new_request_id, random_suffix
from ..._core.resources import REQUEST_ID_ANNOTATION, Object, conditions_of, metadata_of
from ..._sync.create_once import create_once
from ...constants import PODSNAPSHOT_POD_NAME_ANNOTATION, SANDBOX_NAME_HASH_LABEL
from ...exceptions import SandboxError
from .utils import (
    POD_SNAPSHOTS,
    SNAPSHOT_ERROR_CODE,
    SNAPSHOT_SUCCESS_CODE,
    TRIGGERS,
    deadline_of,
    find,
    normalize_datetime,
    wait_for_snapshot_deletion,
    wait_for_snapshot_to_be_completed,
)

logger = logging.getLogger(__name__)

# A name has 63 characters, of which the time and random ones need 25.
_LONGEST_BASE = 38


class SnapshotResponse(BaseModel):
    """The result of `create`."""

    success: bool
    trigger_name: str
    snapshot_uid: str | None
    snapshot_timestamp: str | None
    error_reason: str
    error_code: int


class SnapshotDetail(BaseModel):
    """A snapshot."""

    snapshot_uid: str
    source_pod: str
    creation_timestamp: str | None
    status: str


class ListSnapshotResult(BaseModel):
    """The result of `list`."""

    success: bool
    snapshots: list[SnapshotDetail]
    error_reason: str
    error_code: int


class DeleteSnapshotResult(BaseModel):
    """The result of `delete` and `delete_all`."""

    success: bool
    deleted_snapshots: list[str]
    error_reason: str
    error_code: int


class SnapshotFilter(BaseModel):
    """Which snapshots `list` returns."""

    model_config = ConfigDict(extra="forbid")

    ready_only: bool = True
    created_after: datetime | None = None
    created_before: datetime | None = None

    @field_validator("created_after", "created_before", mode="before")
    @classmethod
    def validate_datetime(cls, v: Any) -> Any:
        """Accepts texts, and times without a zone as UTC."""
        return normalize_datetime(v)

    def accepts(self, snapshot: Object) -> bool:
        """Whether a PodSnapshot passes."""
        if self.ready_only and not _is_ready(snapshot):
            return False
        if self.created_after is None and self.created_before is None:
            return True
        created = normalize_datetime(metadata_of(snapshot).get("creationTimestamp"))
        is_after = created is not None and (self.created_after is None or created >= self.created_after)
        return is_after and (self.created_before is None or (created is not None and created <= self.created_before))


class SnapshotEngine:
    """Takes, lists and deletes snapshots. Failures are part of the results."""

    def __init__(
        self,
        namespace: str,
        k8s_helper: Any,
        get_pod_name_func: Callable[[], str],
        get_sandbox_name_hash_func: Callable[[], str | None],
    ) -> None:
        self.namespace = namespace
        self.k8s_helper = k8s_helper
        self.get_pod_name_func = get_pod_name_func
        self.get_sandbox_name_hash_func = get_sandbox_name_hash_func
        self.created_manual_triggers: list[str] = []

    def create(self, trigger_name: str, podsnapshot_timeout: int = 180) -> SnapshotResponse:
        """Takes a snapshot and waits until it is complete. Its trigger gets `trigger_name`, the time and random characters."""
        base = trigger_name.lower().replace("_", "-")[:_LONGEST_BASE].strip("-") or "snap"
        name = f"{base}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{random_suffix()}"
        try:
            version = self._create_trigger(name)
            taken = wait_for_snapshot_to_be_completed(self.k8s_helper, self.namespace, name, podsnapshot_timeout, version)
        except (SandboxError, RuntimeError, TimeoutError) as error:
            logger.error('Cannot take snapshot "%s": %s', name, error)
            return SnapshotResponse(
                success=False,
                trigger_name=name,
                snapshot_uid=None,
                snapshot_timestamp=None,
                error_reason=str(error),
                error_code=SNAPSHOT_ERROR_CODE,
            )
        return SnapshotResponse(
            success=True,
            trigger_name=name,
            snapshot_uid=taken.snapshot_uid,
            snapshot_timestamp=taken.snapshot_timestamp,
            error_reason="",
            error_code=SNAPSHOT_SUCCESS_CODE,
        )

    def _create_trigger(self, name: str) -> str | None:
        wanted = {
            "apiVersion": TRIGGERS.api_version,
            "kind": TRIGGERS.kind,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "annotations": {REQUEST_ID_ANNOTATION: new_request_id()},
            },
            "spec": {"targetPod": self.get_pod_name_func()},
        }
        created = create_once(self.k8s_helper.api, TRIGGERS, wanted, deadline_of(f'create trigger "{name}"'))
        self.created_manual_triggers.append(name)
        version = metadata_of(created).get("resourceVersion")
        return version if isinstance(version, str) else None

    def delete_manual_triggers(self, max_retries: int = 3) -> None:
        """Deletes the triggers that this object created. Those that remain are in `created_manual_triggers`."""
        for attempt in range(max_retries):
            if attempt > 0:
                time.sleep(1)
            self.created_manual_triggers = [name for name in self.created_manual_triggers if not self._delete_trigger(name)]
            if not self.created_manual_triggers:
                return
        if self.created_manual_triggers:
            logger.warning("Cannot delete the snapshot triggers %s", ", ".join(self.created_manual_triggers))

    def _delete_trigger(self, name: str) -> bool:
        try:
            self.k8s_helper.api.delete(TRIGGERS, self.namespace, name, deadline_of(f'delete trigger "{name}"'))
        except SandboxError as error:
            logger.error("%s", error)
            return False
        return True

    def list(self, filter_by: SnapshotFilter | dict[str, Any] | None = None) -> ListSnapshotResult:
        """The snapshots of this sandbox, the newest first. By default only those that can be restored."""
        try:
            chosen = filter_by if isinstance(filter_by, SnapshotFilter) else SnapshotFilter(**(filter_by or {}))
            name_hash = self.get_sandbox_name_hash_func()
            if not name_hash:
                raise ValueError("The hash of the sandbox's name is not known")
            selector = f"{SANDBOX_NAME_HASH_LABEL}={name_hash}"
            deadline = deadline_of("list the snapshots")
            found = self.k8s_helper.api.list(POD_SNAPSHOTS, self.namespace, deadline, selector)
            details = [_detail_of(each) for each in found if chosen.accepts(each)]
        except (SandboxError, ValidationError, ValueError, TypeError) as error:
            return ListSnapshotResult(
                success=False, snapshots=[], error_reason=f"Cannot list the snapshots: {error}", error_code=SNAPSHOT_ERROR_CODE
            )
        details.sort(key=lambda each: each.creation_timestamp or "", reverse=True)
        return ListSnapshotResult(success=True, snapshots=details, error_reason="", error_code=SNAPSHOT_SUCCESS_CODE)

    def delete(self, snapshot_uid: str, timeout: int = 180) -> DeleteSnapshotResult:
        """Deletes a snapshot and waits until it is gone. Succeeds if there is none."""
        return self._delete([snapshot_uid] if snapshot_uid else [], timeout)

    def delete_all(
        self,
        delete_by: Literal["all", "created_after", "created_before"] = "all",
        timestamp: datetime | str | None = None,
        timeout: int = 180,
    ) -> DeleteSnapshotResult:
        """Deletes all snapshots of this sandbox, or those that were taken after or before a time."""
        if delete_by not in ("all", "created_after", "created_before"):
            raise ValueError(f"Cannot delete snapshots by {delete_by!r}")
        if delete_by != "all" and not isinstance(timestamp, (datetime, str)):
            raise ValueError(f"{delete_by} needs a timestamp")
        chosen: dict[str, Any] = {"ready_only": False, **({} if delete_by == "all" else {delete_by: timestamp})}
        listed = self.list(chosen)
        if not listed.success:
            return DeleteSnapshotResult(
                success=False, deleted_snapshots=[], error_reason=listed.error_reason, error_code=SNAPSHOT_ERROR_CODE
            )
        return self._delete([each.snapshot_uid for each in listed.snapshots], timeout)

    def _delete(self, names: builtins.list[str], timeout: int) -> DeleteSnapshotResult:
        deleted: builtins.list[str] = []
        problems: builtins.list[str] = []
        for name in names:
            try:
                if find(self.k8s_helper, POD_SNAPSHOTS, self.namespace, name) is None:
                    continue
                self.k8s_helper.api.delete(POD_SNAPSHOTS, self.namespace, name, deadline_of(f'delete snapshot "{name}"'))
                if wait_for_snapshot_deletion(self.k8s_helper, self.namespace, name, timeout):
                    deleted.append(name)
                else:
                    problems.append(f'Snapshot "{name}" still exists after {timeout} seconds')
            except SandboxError as error:
                problems.append(str(error))
        code = SNAPSHOT_ERROR_CODE if problems else SNAPSHOT_SUCCESS_CODE
        reason = "; ".join(problems)
        if problems and deleted:
            reason = f"Deleted {len(deleted)} of {len(names)} snapshots: {reason}"
        return DeleteSnapshotResult(success=not problems, deleted_snapshots=deleted, error_reason=reason, error_code=code)


def _is_ready(snapshot: Object) -> bool:
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions_of(snapshot))


def _detail_of(snapshot: Object) -> SnapshotDetail:
    metadata = metadata_of(snapshot)
    return SnapshotDetail(
        snapshot_uid=metadata.get("name", ""),
        source_pod=(metadata.get("annotations") or {}).get(PODSNAPSHOT_POD_NAME_ANNOTATION, "Unknown"),
        creation_timestamp=metadata.get("creationTimestamp"),
        status="Ready" if _is_ready(snapshot) else "NotReady",
    )

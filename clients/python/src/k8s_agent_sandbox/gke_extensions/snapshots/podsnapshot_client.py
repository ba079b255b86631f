"""A client whose sandboxes can be saved and restored."""

from typing import Any

from ..._core.resources import Resource
from ...constants import PODSNAPSHOT_API_KIND
from ...exceptions import SandboxError
from ...sandbox_client import SandboxClient
from .sandbox_with_snapshot_support import SandboxWithSnapshotSupport
from .utils import POD_SNAPSHOTS, deadline_of


class _Discovery(Resource):
    """The list of kinds in an API group."""

    def path(self, namespace: str, name: str | None = None) -> str:
        return f"/apis/{self.api_version}"


class PodSnapshotSandboxClient(SandboxClient[SandboxWithSnapshotSupport]):
    """Creates sandboxes that can be saved and restored. Raises RuntimeError if the cluster has no PodSnapshots."""

    sandbox_class = SandboxWithSnapshotSupport

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.snapshot_crd_installed = self._has_snapshots()
        if not self.snapshot_crd_installed:
            raise RuntimeError(f"The cluster has no {PODSNAPSHOT_API_KIND}s, or this user may not see them")

    def _has_snapshots(self) -> bool:
        deadline = deadline_of(f"find out whether the cluster has {PODSNAPSHOT_API_KIND}s")
        try:
            found = self.k8s_helper.api.get(_Discovery(POD_SNAPSHOTS.api_version, "APIResourceList", ""), "", "", deadline)
        except SandboxError as error:
            if error.status in (403, 404):
                return False
            raise
        return any(resource.get("kind") == PODSNAPSHOT_API_KIND for resource in found.get("resources") or ())

"""Runs the published Pod snapshot client, unmodified, against the box of KUBECONFIG, and prints what it observed as JSON."""

import json
import sys

from kubernetes import client
from kubernetes.stream import stream

from k8s_agent_sandbox.gke_extensions.snapshots import PodSnapshotSandboxClient


def count(sandbox) -> int:
    """The number that the program in the sandbox has counted to in memory."""
    core = client.CoreV1Api()
    said = stream(
        core.connect_get_namespaced_pod_exec,
        sandbox.get_pod_name(),
        "default",
        command=["cat", "/root/count"],
        stdout=True,
        stderr=False,
        stdin=False,
        tty=False,
    )
    return int(said.strip() or 0)


def main() -> None:
    sandboxes = PodSnapshotSandboxClient()
    sandbox = sandboxes.create_sandbox(sys.argv[1])
    seen = {}
    first = sandbox.snapshots.create("first")
    seen["create"] = first.success or first.error_reason
    at_first = count(sandbox)
    listed = sandbox.snapshots.list()
    seen["list"] = [(one.snapshot_uid == first.snapshot_uid, one.source_pod, one.status) for one in listed.snapshots]
    seen["pod"] = sandbox.get_pod_name()

    suspended = sandbox.suspend()
    seen["suspend"] = suspended.success or suspended.error_reason
    resumed = sandbox.resume()
    seen["resume"] = resumed.success or resumed.error_reason
    newest = suspended.snapshot_response.snapshot_uid if suspended.snapshot_response else None
    seen["resumed_from_newest"] = newest is not None and resumed.snapshot_uid == newest
    seen["continued"] = count(sandbox) >= at_first

    again = sandbox.suspend(snapshot_before_suspend=False)
    seen["suspend_again"] = again.success or again.error_reason
    restored = sandbox.restore(first.snapshot_uid)
    seen["restore"] = restored.success or restored.error_reason
    unknown = sandbox.is_suspended() or sandbox.restore("no-such-snapshot").success
    seen["unknown_refused"] = not unknown

    deleted = sandbox.snapshots.delete(first.snapshot_uid)
    seen["delete"] = deleted.success or deleted.error_reason
    seen["left"] = [one.snapshot_uid == newest for one in sandbox.snapshots.list().snapshots]
    sandbox.terminate()
    print(json.dumps(seen))


main()

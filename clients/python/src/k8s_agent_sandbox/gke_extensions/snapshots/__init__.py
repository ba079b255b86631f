"""Snapshots of Pods, with the API of GKE."""

from .podsnapshot_client import PodSnapshotSandboxClient as PodSnapshotSandboxClient

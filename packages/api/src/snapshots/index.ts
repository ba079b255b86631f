export type {
  PodSnapshot,
  PodSnapshotManualTrigger,
  PodSnapshotManualTriggerSpec,
  PodSnapshotManualTriggerStatus,
  PodSnapshotSpec,
  PodSnapshotStatus,
} from "./pod-snapshot.ts";
export type {
  SandboxSnapshot,
  SandboxSnapshotSpec,
  SandboxSnapshotStatus,
  SnapshotDeletionPolicy,
  SnapshotDepth,
  SnapshotRuntime,
  SnapshotVolumes,
} from "./sandbox-snapshot.ts";

export type {
  SandboxSnapshot,
  SandboxSnapshotSpec,
  SandboxSnapshotStatus,
  SnapshotDeletionPolicy,
  SnapshotDepth,
  SnapshotRuntime,
  SnapshotVolumes,
} from "./sandbox-snapshot.ts";

export {
  podSnapshotManualTriggerSpec,
  podSnapshotManualTriggerStatus,
  podSnapshotSpec,
  podSnapshotStatus,
} from "./pod-snapshot.ts";
export { sandboxSnapshotSpec, sandboxSnapshotStatus } from "./sandbox-snapshot.ts";

export { sandboxSnapshotSpec, sandboxSnapshotStatus } from "./sandbox-snapshot.ts";

/** What the SDK exports everywhere. `connect` differs: browsers have no files and no sockets. */
export { type ListedSandbox, type ListOptions, SandboxClient } from "./client.ts";
export type { ConnectOptions } from "./connect/connect-options.ts";
export type { CallOptions } from "./deadline.ts";
export { type ErrorReason, isSandboxError, SandboxError } from "./errors.ts";
export type { Depth, Suspension } from "./kube/resources.ts";
export {
  CodeContext,
  type CodeError,
  type CodeResult,
  type CodeValue,
  type ContextOptions,
  type Language,
  type RunCodeOptions,
} from "./runtime/code.ts";
export {
  type Command,
  type CommandOptions,
  type CommandResult,
  Commands,
  type RunOptions,
  type StartOptions,
} from "./runtime/commands.ts";
export type { FileChange, FileEntry, FileInfo, FileType } from "./runtime/file-entry.ts";
export { type ByteRange, type FileContent, Files, type WriteOptions } from "./runtime/files.ts";
export { type OpenPort, Ports } from "./runtime/ports.ts";
export {
  type Exit,
  type Output,
  Process,
  type ProcessInfo,
  type SignalName,
  type TerminalSize,
} from "./runtime/process.ts";
export type { CreateOptions } from "./sandbox/create-options.ts";
export { Sandbox, type SandboxStatus, type Snapshot, type SnapshotOptions, type Usage } from "./sandbox/sandbox.ts";
export type { OpenTelemetry } from "./telemetry/tracing.ts";

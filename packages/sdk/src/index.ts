import { SandboxClient } from "./client.ts";
import type { ConnectOptions } from "./connect/connect-options.ts";
import { discover } from "./connect/discover.ts";
import { NodeHttp } from "./http/node.ts";
import { ApiServer } from "./kube/api-server.ts";
import { Router } from "./runtime/router.ts";

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
export {
  type ByteRange,
  type FileChange,
  type FileContent,
  type FileEntry,
  type FileInfo,
  Files,
  type FileType,
  type WriteOptions,
} from "./runtime/files.ts";
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

/**
 * Connects to the running box, or to the cluster of the kubeconfig. Nothing is sent yet.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * const { stdout } = await sandbox.commands.run("echo Hello");
 * console.log(stdout);
 * // Output: Hello
 * ```
 */
export async function connect(options: ConnectOptions = {}): Promise<SandboxClient> {
  const { api, router, namespace } = await discover(options);
  const http = new NodeHttp();
  return new SandboxClient({
    api: new ApiServer(http.send, api),
    router: new Router(http.send, router),
    namespace,
    close: () => http[Symbol.dispose](),
  });
}

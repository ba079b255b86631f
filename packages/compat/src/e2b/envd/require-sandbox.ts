import { RpcError } from "../../connect/rpc-error.ts";
import type { ProcessEvent } from "../../runtime/process-calls.ts";
import { goneMessage } from "../sandbox-answers.ts";
import type { EnvdCall } from "./context.ts";

/** Throws if a process ended together with its sandbox: it has no result, and the client must learn that the sandbox is gone. */
export function requireSandbox(
  {
    context,
    target,
  }: { readonly context: Pick<EnvdCall["context"], "directory">; readonly target: EnvdCall["target"] },
  { exit }: ProcessEvent,
): void {
  if (exit === undefined || ((exit.exitCode ?? 0) === 0 && (exit.signal ?? 0) === 0)) return;
  const { sandbox } = context.directory.machine(target.namespace, target.name) ?? {};
  if (sandbox?.metadata.uid !== target.uid) throw new RpcError("unavailable", goneMessage);
}

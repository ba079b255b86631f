/** Whether what an action asked for has happened. Pure. */
import { type Condition, findCondition, isStateReason, type Sandbox, type SandboxSnapshot } from "@agent-sandbox/api";

export type Outcome =
  | { readonly type: "done" }
  | { readonly type: "waiting"; readonly why: string }
  | { readonly type: "failed"; readonly why: string };

/** The condition, unless it describes an older spec. */
function current({ metadata, status }: Sandbox, type: string): Condition | undefined {
  const found = findCondition(status?.conditions, type);
  const isOld = (found?.observedGeneration ?? Number.POSITIVE_INFINITY) < (metadata.generation ?? 0);
  return isOld ? undefined : found;
}

function waiting(condition: Condition | undefined, otherwise: string): Outcome {
  return { type: "waiting", why: condition?.message || condition?.reason || otherwise };
}

function failed({ reason, message }: Condition, before: string): Outcome {
  return { type: "failed", why: `${before}: ${message || reason}` };
}

export function suspended(sandbox: Sandbox): Outcome {
  const condition = current(sandbox, "Suspended");
  if (condition?.status === "True") return { type: "done" };
  if (condition !== undefined && isStateReason(condition.reason)) return failed(condition, "It keeps running");
  return waiting(condition, "suspending");
}

/** With a snapshot: whether it is ready and continues from it. */
export function running(sandbox: Sandbox, snapshot?: string): Outcome {
  const ready = current(sandbox, "Ready");
  const restored = current(sandbox, "Restored");
  const isRestored = snapshot === undefined || sandbox.status?.suspension?.restoredFrom?.name === snapshot;
  if (ready?.status === "True" && isRestored) return { type: "done" };
  const isRefused = restored?.status === "False" && restored.reason !== "SnapshotNotReady";
  if (isRefused && (!isRestored || isStateReason(ready?.reason))) return failed(restored, "It was not restored");
  return waiting(ready, "starting");
}

export function snapshotTaken({ status }: SandboxSnapshot): Outcome {
  const failure = findCondition(status?.conditions, "Failed");
  if (failure?.status === "True") return failed(failure, "It could not be taken");
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "True" ? { type: "done" } : waiting(ready, "taking the snapshot");
}

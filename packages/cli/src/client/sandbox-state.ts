import {
  type Condition,
  findCondition,
  isStateReason,
  type Sandbox,
  type SandboxSnapshot,
  type SuspensionStatus,
} from "@agent-sandbox/api";
import type { Outcome } from "./await-object.ts";
import { formatBytes } from "./format-amounts.ts";

/** The condition, unless it describes an older spec. */
function current({ metadata, status }: Sandbox, type: string): Condition | undefined {
  const found = findCondition(status?.conditions, type);
  const isOld = (found?.observedGeneration ?? Number.POSITIVE_INFINITY) < (metadata.generation ?? 0);
  return isOld ? undefined : found;
}

function waiting(condition: Condition | undefined, otherwise: string): { type: "waiting"; why: string } {
  return { type: "waiting", why: condition?.message || condition?.reason || otherwise };
}

/** Whether a Sandbox that was asked to suspend has done so. */
export function suspensionOutcome(sandbox: Sandbox): Outcome<SuspensionStatus> {
  const condition = current(sandbox, "Suspended");
  if (condition?.status === "True") return { type: "done", value: sandbox.status?.suspension ?? {} };
  if (isStateReason(condition?.reason)) {
    const hint = 'Run "agent-sandbox resume" to cancel, or set spec.suspendPolicy.fallback to Allow';
    return { type: "failed", why: `it keeps running: ${explain(condition)}. ${hint}` };
  }
  return waiting(condition, "suspending");
}

/** Whether a Sandbox that was asked to run is ready. With a snapshot: and continues from it. */
export function resumeOutcome(sandbox: Sandbox, snapshot?: string): Outcome<SuspensionStatus> {
  const restored = current(sandbox, "Restored");
  const ready = current(sandbox, "Ready");
  const suspension = sandbox.status?.suspension ?? {};
  const isRestored = snapshot === undefined || suspension.restoredFrom?.name === snapshot;
  if (ready?.status === "True" && isRestored) return { type: "done", value: suspension };
  // A snapshot that is being taken becomes ready soon.
  if (restored?.status === "False" && !isRestored && restored.reason !== "SnapshotNotReady") {
    return { type: "failed", why: `it was not restored: ${explain(restored)}` };
  }
  if (restored?.status === "False" && isStateReason(ready?.reason)) {
    const hint = "Set spec.suspendPolicy.fallback to Allow to start it from its files";
    return { type: "failed", why: `its memory cannot be restored: ${explain(restored)}. ${hint}` };
  }
  return waiting(ready, "starting");
}

/** Whether a snapshot is complete. */
export function snapshotOutcome({ status }: SandboxSnapshot): Outcome<SandboxSnapshot["status"]> {
  const failed = findCondition(status?.conditions, "Failed");
  if (failed?.status === "True") return { type: "failed", why: `it could not be taken: ${explain(failed)}` };
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "True" ? { type: "done", value: status } : waiting(ready, "taking the snapshot");
}

function explain({ reason, message }: { readonly reason?: string; readonly message?: string }): string {
  return [message, reason && `(${reason})`].filter(Boolean).join(" ");
}

/** As in `depth Memory, 12.3MiB`. Empty for a Sandbox whose status does not say what its suspension kept. */
export function describeSuspension({ depth, sizeBytes }: SuspensionStatus): string {
  if (depth === undefined) return "";
  return [`depth ${depth}`, sizeBytes !== undefined && formatBytes(sizeBytes)].filter(Boolean).join(", ");
}

/** As in `from memory, epoch 3`. */
export function describeResume({ restored, epoch }: SuspensionStatus): string {
  if (restored === undefined) return "";
  const from =
    restored === "Memory" ? "from memory" : restored === "Filesystem" ? "from its files" : "from its volumes";
  return [from, epoch !== undefined && `epoch ${epoch}`].filter(Boolean).join(", ");
}

/** Why less was kept or restored than the policy wants; undefined: nothing is missing. */
export function shortfallOf({ reason, message }: SuspensionStatus): string | undefined {
  return reason === undefined ? undefined : explain({ reason, ...(message !== undefined && { message }) });
}

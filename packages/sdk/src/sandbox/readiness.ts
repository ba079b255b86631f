import {
  type ClaimObject,
  type Condition,
  currentCondition,
  type SandboxObject,
  type SnapshotObject,
} from "../kube/resources.ts";
import type { Verdict } from "../kube/wait.ts";

/** A sandbox or claim with one of these reasons does not become ready by itself. */
const finalReasons: ReadonlySet<string> = new Set([
  "ClaimExpired",
  "EnvVarsInjectionRejected",
  "InvalidConfiguration",
  "InvalidMetadata",
  "PodFailed",
  "PodSucceeded",
  "SandboxExpired",
  "TemplateNotFound",
  "VolumeClaimTemplatesError",
  "WarmPoolNotFound",
]);

type WithConditions = SandboxObject | ClaimObject | SnapshotObject;

function judgeReady<V>(object: WithConditions, done: () => V | undefined): Verdict<V> {
  const ready = currentCondition(object, "Ready");
  const value = ready?.status === "True" ? done() : undefined;
  if (value !== undefined) return { type: "done", value };
  if (object.metadata.deletionTimestamp !== undefined) return { type: "failed", message: "it is being deleted" };
  const failed = finalOf(object);
  if (failed !== undefined) return { type: "failed", ...explain(failed) };
  return { type: "waiting", why: ready === undefined ? "its controller has not seen it yet" : explain(ready).message };
}

function finalOf({ status }: WithConditions): Condition | undefined {
  return status?.conditions?.find(({ status: state, reason = "" }) => state === "False" && finalReasons.has(reason));
}

function explain({ reason, message }: Condition): { readonly message: string; readonly serverReason: string } {
  const text = message === undefined || message === "" ? (reason ?? "not ready") : message;
  return {
    message: reason === undefined || text === reason ? text : `${text} (${reason})`,
    serverReason: reason ?? "",
  };
}

/** Whether a sandbox can be used. */
export function isReady(sandbox: SandboxObject): Verdict<SandboxObject> {
  if (sandbox.spec.operatingMode === "Suspended")
    return { type: "failed", message: "it is suspended; resume it first" };
  return judgeReady(sandbox, () => sandbox);
}

/** Whether a claim has a sandbox that can be used. */
export function isClaimed(claim: ClaimObject): Verdict<ClaimObject> {
  return judgeReady(claim, () => (claim.status?.sandbox?.name === undefined ? undefined : claim));
}

/** Whether a snapshot is complete. */
export function isTaken(snapshot: SnapshotObject): Verdict<SnapshotObject> {
  const failed = snapshot.status?.conditions?.find(({ type, status }) => type === "Failed" && status === "True");
  if (failed !== undefined) return { type: "failed", ...explain(failed) };
  return judgeReady(snapshot, () => snapshot);
}

/** Whether a sandbox that was asked to suspend has done so. */
export function isSuspended(sandbox: SandboxObject): Verdict<SandboxObject> {
  const suspended = currentCondition(sandbox, "Suspended");
  if (suspended?.status === "True") return { type: "done", value: sandbox };
  if (sandbox.spec.operatingMode !== "Suspended") return { type: "failed", message: "it was resumed meanwhile" };
  if (suspended?.status === "False" && saveReasons.has(suspended.reason ?? "")) {
    return { type: "failed", ...explain(suspended) };
  }
  return { type: "waiting", why: suspended === undefined ? "suspending" : explain(suspended).message };
}

/** The sandbox keeps running, because its policy does not let it lose its memory. */
const saveReasons: ReadonlySet<string> = new Set([
  "KeyUnavailable",
  "QuotaExceeded",
  "RuntimeCannotSave",
  "RuntimeVersionDiffers",
  "SaveFailed",
  "SourceNotRunning",
  "VolumeNotLocal",
]);

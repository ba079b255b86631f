import { findCondition, type Pod, restoredCondition, type Sandbox } from "@agent-sandbox/api";
import type { RouterReason } from "../router-error.ts";

/** Why a pod does not become ready. The message is sent to the client. `final`: waiting does not help. */
export interface Problem {
  readonly reason: RouterReason;
  readonly message: string;
  readonly final: boolean;
}

const imageReasons: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "RegistryUnavailable",
]);

/** The kubelet has failed repeatedly, or can never succeed. A first failed pull may still succeed on retry. */
const finalReasons: ReadonlySet<string> = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CrashLoopBackOff",
]);

export function podProblem(pod: Pod): Problem | undefined {
  const { initContainerStatuses = [], containerStatuses = [], conditions } = pod.status ?? {};
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const { reason = "", message = "" } = state?.waiting ?? {};
    const text = clip(`container "${name}": ${reason}${message === "" ? "" : `: ${message}`}`);
    if (imageReasons.has(reason)) return { reason: "ImageUnavailable", message: text, final: finalReasons.has(reason) };
    if (reason === "CrashLoopBackOff") return { reason: "SandboxCrashing", message: text, final: true };
    if (reason.endsWith("Error")) return { reason: "SandboxCrashing", message: text, final: false };
  }
  const restored = findCondition(conditions, restoredCondition);
  if (restored?.status === "False") {
    const text = clip(`its memory cannot be restored: ${restored.message ?? restored.reason ?? "unknown reason"}`);
    // Not final: if its policy allows that, the controller replaces the Pod by one that starts from its files.
    return { reason: "SandboxStarting", message: text, final: false };
  }
  const scheduled = findCondition(conditions, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  // Not final: the cluster may add a node.
  return { reason: "Unschedulable", message: clip(scheduled.message ?? "no node has room"), final: false };
}

/** A problem that the controller reports in the Sandbox's status. */
export function sandboxProblem(sandbox: Sandbox): Problem | undefined {
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  if (ready === undefined || !["ReconcilerError", "InvalidConfiguration"].includes(ready.reason)) return undefined;
  // Not final: an invalid Sandbox can be corrected.
  return { reason: "SandboxStarting", message: clip(ready.message), final: false };
}

const longestMessage = 512;
const clip = (text: string): string => (text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text);

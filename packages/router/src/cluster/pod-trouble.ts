import { findCondition, type Pod, type Sandbox } from "@agent-sandbox/api";
import type { RouterReason } from "../router-error.ts";

/** What keeps a pod from getting ready, in words for the caller. `final`: waiting will not help. */
export interface Trouble {
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

/** The node said so more than once, or will never say otherwise. A first failed pull may still succeed. */
const finalReasons: ReadonlySet<string> = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CrashLoopBackOff",
]);

export function podTrouble(pod: Pod): Trouble | undefined {
  const { initContainerStatuses = [], containerStatuses = [], conditions } = pod.status ?? {};
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const { reason = "", message = "" } = state?.waiting ?? {};
    const text = clip(`container "${name}": ${reason}${message === "" ? "" : `: ${message}`}`);
    if (imageReasons.has(reason)) return { reason: "ImageUnavailable", message: text, final: finalReasons.has(reason) };
    if (reason === "CrashLoopBackOff") return { reason: "SandboxCrashing", message: text, final: true };
    if (reason.endsWith("Error")) return { reason: "SandboxCrashing", message: text, final: false };
  }
  const scheduled = findCondition(conditions, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  // Not final: a cluster may grow a node for it.
  return { reason: "Unschedulable", message: clip(scheduled.message ?? "no node has room"), final: false };
}

/** What the controller could not do for the Sandbox. */
export function sandboxTrouble(sandbox: Sandbox): Trouble | undefined {
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  if (ready?.reason !== "ReconcilerError") return undefined;
  return { reason: "SandboxStarting", message: clip(ready.message), final: false };
}

const longestMessage = 512;
const clip = (text: string): string => (text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text);

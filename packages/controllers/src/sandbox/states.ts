import { isConditionTrue, saveAnnotation, sleepReason } from "@agent-sandbox/api";
import { quietIdentity } from "./idle.ts";
import { findPod, isTerminating, isUnreportedMember, type Snapshot } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";
import { recoveryOf } from "./recovery.ts";
import { restoreOf } from "./restoration.ts";
import { awaitsSave } from "./suspension.ts";
import type { States } from "./watched.ts";

type Subject = Pick<Snapshot, "sandbox" | "pods" | "trackedPod" | "settings">;

/** The states that hold now. Call it only for a spec without problem. */
export function statesOf({ sandbox, settings, ...observed }: Subject): States {
  if (sandbox.metadata.deletionTimestamp !== undefined) return {};
  const found = findPod(observed);
  const quiet = quietIdentity(sandbox);
  const waiting = {
    ...(quiet !== undefined && { quiet }),
    ...(isUnreportedMember(sandbox) && { unreported: sandbox.metadata.uid ?? "" }),
  };
  if (found.type !== "owned") return waiting;
  const { pod } = found;
  const { uid = "" } = pod.metadata ?? {};
  const isReady = isConditionTrue(pod.status?.conditions, "Ready");
  const isScheduled = isConditionTrue(pod.status?.conditions, "PodScheduled");
  const canWait = settings.writeBehindMs > 0 && !isTerminating(pod);
  return {
    ...waiting,
    ...(quiet !== undefined && isReady && sleepReason(sandbox) === undefined && { ready: `${uid} ${quiet}` }),
    ...(recoveryOf(pod) !== undefined && { failed: uid }),
    ...(canWait && podMetadataPatch(sandbox, settings, pod) !== undefined && { drift: uid }),
    ...(awaitsSave(pod) && { saving: `${uid} ${pod.metadata?.annotations?.[saveAnnotation]}` }),
    ...(restoreOf(pod).type === "running" && { restoring: uid }),
    ...(isScheduled && !isReady && { scheduled: uid }),
  };
}

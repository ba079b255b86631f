import type { Pod } from "../kubernetes.ts";
import { findCondition, isConditionTrue } from "../primitives/condition.ts";
import { containerTrouble } from "./container-trouble.ts";
import { longestSentence, oneLine } from "./one-line.ts";

/** Why a Pod is not ready. */
export interface PodTrouble {
  /** The reason of the kubelet or scheduler, such as `ImagePullBackOff`. It may alternate while the cause stays the same. */
  readonly reason: string;
  /** The beginning of the sentence. The same for as long as the cause is the same. */
  readonly cause: string;
  /** The rest of it: the message of the runtime, registry or scheduler. It may be missing for a moment. */
  readonly detail?: string;
  /** Whether something is wrong. A Pod that is starting or ending normally may be not ready as well. */
  readonly isFault: boolean;
}

/**
 * Why a Pod is not ready, by its status; undefined: it is, or it is starting normally. The kubelet reports volumes that cannot be
 * mounted in events only, so nothing is known about those here; the box's node reports them in the status as well.
 */
export function podTroubleOf(pod: Pick<Pod, "spec" | "status">): PodTrouble | undefined {
  const { phase, reason, message = "", conditions } = pod.status ?? {};
  if (isConditionTrue(conditions, "Ready") || phase === "Succeeded") return undefined;
  const scheduled = findCondition(conditions, "PodScheduled");
  if (scheduled?.status === "False") {
    const { reason: why = "Unschedulable", message: detail = "" } = scheduled;
    return { reason: why, cause: unscheduled, ...(detail !== "" && { detail }), isFault: true };
  }
  // A Pod that was evicted or whose node is lost.
  if (reason) return { reason, cause: oneLine(reason), ...(message !== "" && { detail: message }), isFault: true };
  const found = troublesOf(pod);
  return found.find(({ isFault }) => isFault) ?? found[0] ?? unprobed(pod);
}

export const unscheduled = "cannot be scheduled";
const probes = "the readiness probe of container";

/** What a sentence is about: whether something is wrong, no node has room for the Pod, or the Pod is starting and waits for probes. */
export function kindOfTrouble(sentence: string): "fault" | "scheduling" | "probe" {
  if (sentence.startsWith(unscheduled)) return "scheduling";
  return sentence.startsWith(probes) ? "probe" : "fault";
}

/** One line of at most 1024 characters. */
export function describeTrouble({ cause, detail }: PodTrouble): string {
  return oneLine(detail === undefined ? cause : `${cause}: ${detail}`, longestSentence);
}

function troublesOf(pod: Pick<Pod, "spec" | "status">): PodTrouble[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const inits = initContainerStatuses.filter(({ state }) => state?.terminated?.exitCode !== 0);
  return [
    ...inits.flatMap((status) => containerTrouble(pod, status, "init container") ?? []),
    ...containerStatuses.flatMap((status) => containerTrouble(pod, status, "container") ?? []),
  ];
}

/**
 * A Pod that runs and is not ready, although nothing is wrong with its containers, waits for its probes. All containers with a probe
 * are named, so that the sentence stays the same while one after the other becomes ready.
 */
function unprobed({ spec, status }: Pick<Pod, "spec" | "status">): PodTrouble | undefined {
  if (status?.phase !== "Running") return undefined;
  const probed = (spec?.containers ?? []).filter(({ readinessProbe }) => readinessProbe);
  const isUnready = (status.containerStatuses ?? []).some(
    ({ name, ready, state }) => state?.running !== undefined && !ready && probed.some((one) => one.name === name),
  );
  if (!isUnready) return undefined;
  const names = probed.map(({ name }) => `"${oneLine(name)}"`).join(", ");
  const cause = `${probes} ${names} has not succeeded`;
  return { reason: "ContainersNotReady", cause, isFault: false };
}

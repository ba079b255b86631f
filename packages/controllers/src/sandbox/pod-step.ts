import {
  blueprintChoices,
  isPoolMember,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  trackedPodName,
} from "@agent-sandbox/api";
import { type Action, targetOf } from "./action.ts";
import { adoptedReferences, standingOf, strangerProblem } from "./adoption.ts";
import { desiredPod } from "./desired-pod.ts";
import { podTwinProblem } from "./name-twin.ts";
import { type FoundPod, isTerminating, type Observed } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";
import { recoveryOf } from "./recovery.ts";
import { injectionProblem } from "./runtime-injection.ts";
import type { Settings } from "./settings.ts";

export interface PodFinding {
  readonly actions: readonly Action[];
  readonly problem?: string;
  /** How long until there is something to do. */
  readonly waitMs?: number;
}

const nothing: PodFinding = { actions: [] };

/** A suspended Sandbox has no Pod. A Pod that it does not control is left alone. */
export function stopPod({ sandbox }: Observed, found: FoundPod): PodFinding {
  switch (found.type) {
    case "owned":
      return { actions: removal([found.pod]) };
    case "several":
      return { actions: removal(found.pods) };
    case "other":
      return { actions: track(sandbox, null) };
    default:
      // An annotation with the Sandbox's own name means the same as none. Removing it and adding it later would be two writes.
      return { actions: trackedPodName(sandbox) === sandbox.metadata.name ? [] : track(sandbox, null) };
  }
}

/** A running Sandbox has exactly one Pod. */
export function runPod(observed: Observed, found: FoundPod, settings: Settings): PodFinding {
  switch (found.type) {
    case "several":
      return nothing;
    case "none": {
      const problem = podTwinProblem(observed);
      return problem === undefined ? creation(observed.sandbox, settings) : { actions: [], problem };
    }
    case "other":
      return adoption(observed.sandbox, found.pod, settings);
    default:
      return upkeep(observed, found.pod, settings);
  }
}

/** Deletes the Pods that are not terminating yet. */
export function removal(pods: readonly Pod[]): Action[] {
  return pods
    .filter((pod) => !isTerminating(pod))
    .map((pod) => ({ do: "delete", child: "pod", target: targetOf(pod, { locked: false }) }));
}

function creation(sandbox: Sandbox, settings: Settings, restartCount = 0): PodFinding {
  const create: Action = { do: "create", child: "pod", object: desiredPod(sandbox, settings, restartCount) };
  if (blueprintChoices(sandbox.spec).runtime !== "Injected") return { actions: [create] };
  const problem = injectionProblem(sandbox, settings.runtime);
  return problem === undefined ? { actions: [{ do: "ensure-token" }, create] } : { actions: [], problem };
}

function adoption(sandbox: Sandbox, pod: Pod, settings: Settings): PodFinding {
  const standing = standingOf(sandbox, pod);
  if (standing === "adoptable") {
    const metadata = { ...podMetadataPatch(sandbox, settings, pod), ...adoptedReferences(sandbox, pod) };
    return { actions: [{ do: "patch", child: "pod", target: targetOf(pod, { locked: true }), body: { metadata } }] };
  }
  // Without the annotation that names another owner's Pod, the Sandbox creates a Pod with its own name.
  const isMisled = standing === "foreign" || pod.metadata?.name !== sandbox.metadata.name;
  return { actions: isMisled ? track(sandbox, null) : [], problem: strangerProblem("Pod", pod) };
}

function upkeep(observed: Observed, pod: Pod, settings: Settings): PodFinding {
  const { sandbox } = observed;
  if (isTerminating(pod)) return nothing;
  const recovery = recoveryOf(pod);
  if (recovery !== undefined) {
    const waitMs = Math.max(0, recovery.delayMs - (observed.watched.failed ?? 0));
    return waitMs > 0 ? { actions: [], waitMs } : replacement(sandbox, pod, settings);
  }
  const name = pod.metadata?.name ?? "";
  const isTracked = sandbox.metadata.annotations?.[podNameAnnotation] === name;
  // The claim annotates a pool member when it adopts it.
  const isObvious = isPoolMember(sandbox) && trackedPodName(sandbox) === name;
  const tracked = isTracked || isObvious ? [] : track(sandbox, name);
  const { actions, ...rest } = metadataUpkeep(observed, pod, settings);
  return { actions: [...actions, ...tracked], ...rest };
}

/** Deletes and creates in one step, so that the new Pod carries the number of failures before it. */
function replacement(sandbox: Sandbox, pod: Pod, settings: Settings): PodFinding {
  const { actions, problem } = creation(sandbox, settings, recoveryOf(pod)?.restartCount);
  if (problem !== undefined) return { actions: [], problem };
  return { actions: [{ do: "delete", child: "pod", target: targetOf(pod, { locked: true }) }, ...actions] };
}

/** Several changes in a row share one write: the first one waits, for a second at most. */
function metadataUpkeep({ sandbox, watched }: Observed, pod: Pod, settings: Settings): PodFinding {
  const metadata = podMetadataPatch(sandbox, settings, pod);
  if (metadata === undefined) return nothing;
  const leftMs = Math.min(settings.writeBehindMs, 1_000) - (watched.drift ?? 0);
  if (leftMs > 0) return { actions: [], waitMs: leftMs };
  return { actions: [{ do: "patch", child: "pod", target: targetOf(pod, { locked: false }), body: { metadata } }] };
}

function track(sandbox: Sandbox, podName: string | null): Action[] {
  const trackedName = sandbox.metadata.annotations?.[podNameAnnotation];
  return (trackedName ?? null) === podName ? [] : [{ do: "track-pod", podName }];
}

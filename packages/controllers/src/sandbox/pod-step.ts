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
  readonly wakeAfterMs?: number;
}

const nothing: PodFinding = { actions: [] };

/** A Sandbox that is not to run has no Pod. What it does not own is left alone. */
export function stopPod({ sandbox }: Observed, found: FoundPod): PodFinding {
  switch (found.type) {
    case "owned":
      return { actions: removal([found.pod]) };
    case "several":
      return { actions: removal(found.pods) };
    case "other":
      return { actions: track(sandbox, null) };
    default:
      // A note of the Sandbox's own name says what its absence says too: to clear it and write it again is two writes.
      return { actions: trackedPodName(sandbox) === sandbox.metadata.name ? [] : track(sandbox, null) };
  }
}

/** A Sandbox that is to run has exactly one Pod. */
export function runPod(seen: Observed, found: FoundPod, settings: Settings): PodFinding {
  switch (found.type) {
    case "several":
      return nothing;
    case "none": {
      const problem = podTwinProblem(seen);
      return problem === undefined ? creation(seen.sandbox, settings) : { actions: [], problem };
    }
    case "other":
      return adoption(seen.sandbox, found.pod, settings);
    default:
      return upkeep(seen, found.pod, settings);
  }
}

/** Deletes each Pod once: one that is going already needs no second push. */
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
  // A note that leads to a stranger would be an error for ever; without it the Sandbox has a Pod of its own name.
  const isMisled = standing === "foreign" || pod.metadata?.name !== sandbox.metadata.name;
  return { actions: isMisled ? track(sandbox, null) : [], problem: strangerProblem("Pod", pod) };
}

function upkeep(seen: Observed, pod: Pod, settings: Settings): PodFinding {
  const { sandbox } = seen;
  if (isTerminating(pod)) return nothing;
  const recovery = recoveryOf(pod);
  if (recovery !== undefined) {
    const wakeAfterMs = Math.max(0, recovery.delayMs - (seen.watched.failed ?? 0));
    return wakeAfterMs > 0 ? { actions: [], wakeAfterMs } : replacement(sandbox, pod, settings);
  }
  const name = pod.metadata?.name ?? "";
  const isTracked = sandbox.metadata.annotations?.[podNameAnnotation] === name;
  // A pool's member is noted when it is claimed.
  const isObvious = isPoolMember(sandbox) && trackedPodName(sandbox) === name;
  const tracked = isTracked || isObvious ? [] : track(sandbox, name);
  const { actions, ...rest } = metadataUpkeep(seen, pod, settings);
  return { actions: [...actions, ...tracked], ...rest };
}

/** In one step, so that the new Pod knows how many failed before it. */
function replacement(sandbox: Sandbox, pod: Pod, settings: Settings): PodFinding {
  const { actions, problem } = creation(sandbox, settings, recoveryOf(pod)?.restartCount);
  if (problem !== undefined) return { actions: [], problem };
  return { actions: [{ do: "delete", child: "pod", target: targetOf(pod, { locked: true }) }, ...actions] };
}

/** Several changes in a row may share one write: the first is put off, for a second at most and never again. */
function metadataUpkeep({ sandbox, watched }: Observed, pod: Pod, settings: Settings): PodFinding {
  const metadata = podMetadataPatch(sandbox, settings, pod);
  if (metadata === undefined) return nothing;
  const leftMs = Math.min(settings.writeBehindMs, 1_000) - (watched.drift ?? 0);
  if (leftMs > 0) return { actions: [], wakeAfterMs: leftMs };
  return { actions: [{ do: "patch", child: "pod", target: targetOf(pod, { locked: false }), body: { metadata } }] };
}

function track(sandbox: Sandbox, podName: string | null): Action[] {
  const noted = sandbox.metadata.annotations?.[podNameAnnotation];
  return (noted ?? null) === podName ? [] : [{ do: "track-pod", podName }];
}

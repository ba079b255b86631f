import {
  blueprintChoices,
  isPoolMember,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  saveAnnotation,
  trackedPodName,
} from "@agent-sandbox/api";
import { type Action, targetOf } from "./action.ts";
import { adoptedReferences, standingOf, strangerProblem } from "./adoption.ts";
import { type Shortfall, wantsMemory } from "./depth.ts";
import { desiredPod } from "./desired-pod.ts";
import { podTwinProblem } from "./name-twin.ts";
import { type FoundPod, isTerminating, type Observed } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";
import { sourceOf } from "./pod-source.ts";
import { recoveryOf } from "./recovery.ts";
import { isFailedAttempt, restoreRefusal } from "./restoration.ts";
import { injectionProblem } from "./runtime-injection.ts";
import type { Settings } from "./settings.ts";
import { awaitsSave, isOverdue, isSaved, isSaveRequested, type SuspensionStep, saveLimitMs } from "./suspension.ts";
import { leavingClaimProblem } from "./volume-claims.ts";

export interface PodFinding {
  readonly actions: readonly Action[];
  readonly problem?: string;
  /** Why there is no usable Pod although nothing failed: its saved state is missing or cannot be restored. */
  readonly blocked?: Shortfall;
  /** How long until there is something to do. */
  readonly waitMs?: number;
}

const nothing: PodFinding = { actions: [] };

/** A suspended Sandbox has no Pod. A Pod that it does not control is left alone. */
export function stopPod({ sandbox }: Observed, found: FoundPod, step?: SuspensionStep): PodFinding {
  switch (found.type) {
    case "owned":
      return suspension(sandbox, found.pod, step);
    case "several":
      return { actions: removal(found.pods) };
    case "other":
      return { actions: track(sandbox, null) };
    default:
      // An annotation with the Sandbox's own name means the same as none. Removing it and adding it later would be two writes.
      return { actions: trackedPodName(sandbox) === sandbox.metadata.name ? [] : track(sandbox, null) };
  }
}

function suspension(sandbox: Sandbox, pod: Pod, step: SuspensionStep | undefined): PodFinding {
  switch (step?.type) {
    case "save":
      return { actions: [saveRequest(pod, String(sandbox.status?.suspension?.epoch ?? 0))] };
    case "wait":
      return { actions: [], ...(step.waitMs !== undefined && { waitMs: step.waitMs }) };
    default:
      // What was observed may be old: a Pod that has started to run meanwhile has memory to save.
      return { actions: removal([pod], { locked: wantsMemory(sandbox.spec) && !isSaved(pod) }) };
  }
}

/** Null withdraws the request. */
function saveRequest(pod: Pod, epoch: string | null): Action {
  const body = { metadata: { annotations: { [saveAnnotation]: epoch } } };
  return { do: "patch", child: "pod", target: targetOf(pod, { locked: false }), body };
}

/** A running Sandbox has exactly one Pod. */
export function runPod(observed: Observed, found: FoundPod, settings: Settings): PodFinding {
  switch (found.type) {
    case "several":
      return nothing;
    case "none": {
      const problem = podTwinProblem(observed) ?? leavingClaimProblem(observed);
      return problem === undefined ? creation(observed, settings) : { actions: [], problem };
    }
    case "other":
      return adoption(observed.sandbox, found.pod, settings);
    default:
      return upkeep(observed, found.pod, settings);
  }
}

/** Deletes the Pods that are not terminating yet. No process of a saved Pod is left that could use a grace period. */
export function removal(pods: readonly Pod[], { locked = false }: { readonly locked?: boolean } = {}): Action[] {
  return pods
    .filter((pod) => !isTerminating(pod))
    .map((pod) => ({
      do: "delete",
      child: "pod",
      target: targetOf(pod, { locked }),
      ...(isSaved(pod) && { atOnce: true }),
    }));
}

function creation(observed: Observed, settings: Settings, restartCount = 0): PodFinding {
  const { sandbox } = observed;
  const source = sourceOf(observed);
  if (source.type === "blocked") return { actions: [], blocked: source };
  const object = desiredPod(sandbox, settings, { source, restartCount });
  const create: Action = { do: "create", child: "pod", object };
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
  if (isSaved(pod) || isFailedAttempt(observed, pod)) return { actions: removal([pod]) };
  if (awaitsSave(pod) && !isOverdue(observed))
    return { actions: [], waitMs: saveLimitMs - (observed.watched.saving ?? 0) };
  if (isSaveRequested(pod)) return { actions: [saveRequest(pod, null)] };
  const recovery = recoveryOf(pod);
  if (recovery !== undefined) {
    const waitMs = Math.max(0, recovery.delayMs - (observed.watched.failed ?? 0));
    return waitMs > 0 ? { actions: [], waitMs } : replacement(observed, pod, settings);
  }
  const name = pod.metadata?.name ?? "";
  const isTracked = sandbox.metadata.annotations?.[podNameAnnotation] === name;
  // The claim annotates a pool member when it adopts it.
  const isObvious = isPoolMember(sandbox) && trackedPodName(sandbox) === name;
  const tracked = isTracked || isObvious ? [] : track(sandbox, name);
  const { actions, ...rest } = metadataUpkeep(observed, pod, settings);
  const blocked = restoreRefusal(sandbox, pod);
  return { actions: [...actions, ...tracked], ...rest, ...(blocked && { blocked }) };
}

/** Deletes and creates in one step, so that the new Pod carries the number of failures before it. */
function replacement(observed: Observed, pod: Pod, settings: Settings): PodFinding {
  const { actions, ...obstacles } = creation(observed, settings, recoveryOf(pod)?.restartCount);
  if (actions.length === 0) return { actions, ...obstacles };
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

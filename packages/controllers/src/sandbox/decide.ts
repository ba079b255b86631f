import { findCondition, type Sandbox, type SandboxStatus, sleepReason } from "@agent-sandbox/api";
import type { Note } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import type { Action } from "./action.ts";
import type { Findings } from "./conditions.ts";
import { expire, shutdownAt } from "./expiry.ts";
import { deleteInMs, suspendInMs } from "./idle.ts";
import { type FoundPod, findPod, type Observed } from "./observed.ts";
import { runPod, stopPod } from "./pod-step.ts";
import { serviceStep } from "./service.ts";
import type { Settings } from "./settings.ts";
import { specProblem } from "./spec-problem.ts";
import { firstNewsCanWaitMs, newsCanWaitMs, statusOf } from "./status.ts";
import { volumeClaimStep } from "./volume-claims.ts";

export interface Decision {
  readonly actions: readonly Action[];
  /** Undefined: leave the status as it is. */
  readonly status: SandboxStatus | undefined;
  /** When to look again even if nothing changes. */
  readonly wakeAfterMs?: number;
  /** News for people, once the status is written. */
  readonly note?: Note;
}

/**
 * What to do about one Sandbox now. Pure: the same observation at the same time gives the same answer. Total: a spec that
 * no schema would let through is told to whoever wrote it, like any other mistake.
 */
export function decide(seen: Observed, now: number, settings: Settings): Decision {
  // Children go with the Sandbox by garbage collection.
  if (seen.sandbox.metadata.deletionTimestamp !== undefined) return { actions: [], status: undefined };
  try {
    return decideByDeadlines(seen, now, settings);
  } catch (error) {
    return misunderstood(seen, `Cannot understand the spec: ${errorText(error)}`, now, settings);
  }
}

function decideByDeadlines(seen: Observed, now: number, settings: Settings): Decision {
  const { sandbox } = seen;
  const problem = specProblem(sandbox);
  if (problem !== undefined) return misunderstood(seen, problem, now, settings);
  const expiresAt = shutdownAt(sandbox);
  if (expiresAt !== undefined && now >= expiresAt) return expire(seen, now);
  const deleteIn = deleteInMs(seen);
  if (deleteIn === 0) return { actions: [{ do: "delete-sandbox" }], status: undefined };
  const decision = keep(seen, now, settings);
  const expiresIn = expiresAt === undefined ? undefined : Math.max(expiresAt - now, 2_000);
  return withWake(decision, earliest(decision.wakeAfterMs, deleteIn, expiresIn));
}

/** A spec that cannot be understood: nothing is done about it, and nothing undone. */
function misunderstood(seen: Observed, problem: string, now: number, settings: Settings): Decision {
  const { sandbox, failures } = seen;
  const found = findPod(seen);
  const service = { isRequired: false, exists: sandbox.status?.service !== undefined };
  const sleep = sleepReason(seen.sandbox);
  const findings = { sandbox, sleep, found, service, podProblem: undefined, failures, otherProblems: [problem] };
  return { actions: [], status: statusOf(findings, now, settings.clusterDomain) };
}

function keep(seen: Observed, now: number, settings: Settings): Decision {
  const found = findPod(seen);
  const suspendIn = suspendInMs(seen);
  // Idleness is written down, on the very version that was looked at, before the Pod goes: activity that came since wins.
  const isDozing = suspendIn === 0;
  const sleep = isDozing ? "idle" : sleepReason(seen.sandbox);
  const volumes = volumeClaimStep(seen);
  const pod = sleep === undefined ? runPod(seen, found, settings) : stopPod(seen, found);
  const hasSeveral = found.type === "several" && sleep === undefined;
  const service = hasSeveral ? { actions: [], isRequired: false, exists: false } : serviceStep(seen);
  const otherProblems = [volumes.problem, service.problem].filter((problem) => problem !== undefined);
  const { sandbox, failures } = seen;
  const findings: Findings = { sandbox, sleep, found, service, podProblem: pod.problem, otherProblems, failures };
  const status = statusOf(findings, now, settings.clusterDomain);
  const waitMs =
    firstNewsCanWaitMs(sandbox, status, seen.watched) || newsCanWaitMs(sandbox.status, status, seen.watched);
  const note = hasSeveral ? severalPodsNote(sandbox, found) : undefined;
  return withWake(
    {
      actions: [...volumes.actions, ...(isDozing ? [] : pod.actions), ...service.actions],
      status: waitMs > 0 ? sandbox.status : status,
      ...(note && { note }),
    },
    earliest(suspendIn, pod.wakeAfterMs, waitMs > 0 ? waitMs : undefined),
  );
}

/** Told once: as long as the status says so, everybody knows. */
function severalPodsNote(sandbox: Sandbox, found: FoundPod & { type: "several" }): Note | undefined {
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "MultiplePods") return undefined;
  const names = found.pods.map(({ metadata }) => metadata?.name).join(", ");
  const text = `multiple Pods (${found.pods.length}) are controlled by this Sandbox: ${names}`;
  return { type: "Warning", reason: "MultiplePods", action: "Reconciling", text };
}

function withWake(decision: Decision, wakeAfterMs: number | undefined): Decision {
  return wakeAfterMs === undefined ? decision : { ...decision, wakeAfterMs };
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

import type { Pod, PodStatus } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import { nextBackoff } from "./backoff.ts";
import { holderName, needsHolder } from "./members.ts";
import type { Health, Life, NodeRules, TaskState } from "./observed.ts";
import { isDone, planContainers } from "./plan-containers.ts";
import { isLive, planStop } from "./plan-stop.ts";
import type { ContainerRecord, PodRecord, StopCause, Termination } from "./record.ts";
import { type Problem, podStatus } from "./status.ts";
import { unsupportedField } from "./supported.ts";

/** What the node knows when it looks at one Pod. Plain data: no client, no clock. */
export interface Observed {
  /** As the API has it; undefined once it is gone from there. */
  readonly pod: Pod | undefined;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  readonly rules: NodeRules;
  /** By container, for those whose record has a run. */
  readonly lives: Readonly<Record<string, Life>>;
  /** By container, for those that run and have probes. */
  readonly health: Readonly<Record<string, Health>>;
  /** What goes on or has ended beside the passes: pulls and hooks, by name. */
  readonly tasks: Readonly<Record<string, TaskState>>;
  /** Of the objects the Pod's volumes are filled from. */
  readonly sourcesVersion: string;
  /** The Pod takes more of the machine than it may. */
  readonly excess?: Problem | undefined;
  /** Why a Pod that has not begun has to wait. */
  readonly pressure?: Problem | undefined;
}

/** Each action can be carried out on its own and repeated safely. */
export type Action =
  | { readonly do: "set-up" }
  | { readonly do: "sync-volumes" }
  | { readonly do: "start-holder"; readonly attempt: number }
  | { readonly do: "pull-image"; readonly container: string }
  | { readonly do: "start-container"; readonly container: string; readonly attempt: number }
  | { readonly do: "record-failure"; readonly container: string; readonly problem: Problem }
  | { readonly do: "run-hook"; readonly container: string; readonly hook: "postStart" | "preStop" }
  | { readonly do: "record-hooked"; readonly container: string }
  | { readonly do: "record-exit"; readonly container: string; readonly record: ContainerRecord }
  | { readonly do: "stop-container"; readonly container: string; readonly because: StopCause; readonly graceMs: number }
  | { readonly do: "signal"; readonly container: string; readonly signal: "SIGTERM" | "SIGKILL" }
  | { readonly do: "record-verdict"; readonly verdict: Problem }
  | { readonly do: "release" }
  | { readonly do: "tear-down" }
  | { readonly do: "delete-from-api" };

export interface Decision {
  readonly actions: readonly Action[];
  /** What to report when there is nothing left to do; undefined when the API is not to be told anything. */
  readonly status?: PodStatus;
  /** Set when the Pod cannot run as it is written. */
  readonly problem?: Problem;
  /** When to look again even if nothing changes. */
  readonly wakeAt?: number;
}

const defaultGraceSeconds = 30;
/** Who takes what is everybody's does not get long to take more. */
const evictionGraceMs = 1000;
/** Room comes back when something is removed, which no event tells. */
const pressureRetryMs = 5000;
/** The exit code of a process that was killed: the best guess about one whose end nobody saw. */
const unknownExitCode = 137;

export function decide(seen: Observed, now: number): Decision {
  const { pod, record } = seen;
  if (pod === undefined) return { actions: record === undefined ? [] : [{ do: "tear-down" }] };
  const exits = recordExits(seen, now);
  if (exits.length > 0) return { actions: exits };
  if (pod.metadata?.deletionTimestamp !== undefined) return decideDeletion(pod, seen, now);
  if (isOver(pod.status?.phase)) return { actions: record === undefined || record.released ? [] : [{ do: "release" }] };

  const problem = unsupportedField(pod, seen.rules, record);
  if (problem !== undefined) return { actions: [], problem, status: podStatus({ ...seen, pod, problem }, now) };
  if (record === undefined && seen.pressure !== undefined) {
    const waiting = { ...seen, pod, problem: seen.pressure };
    return { actions: [], problem: seen.pressure, status: podStatus(waiting, now), wakeAt: now + pressureRetryMs };
  }
  if (record === undefined) return { actions: [{ do: "set-up" }] };
  const verdict = dueVerdict(pod, record, seen, now);
  if (verdict !== undefined) return { actions: [{ do: "record-verdict", verdict }] };
  if (!record.prepared && record.verdict === undefined) return { actions: [{ do: "set-up" }] };
  return decideRunning(pod, record, seen, now);
}

function recordExits({ record, lives, rules }: Observed, now: number): Action[] {
  return Object.entries(record?.containers ?? {}).flatMap(([container, kept]): Action[] => {
    const life = lives[container];
    if (record === undefined || kept.run === undefined || kept.ended !== undefined || life === undefined || life.alive)
      return [];
    const ended = terminationOf(containerId(record.uid, container, kept.attempt), kept, life, now);
    const backoff = nextBackoff(kept.backoff, ended.finishedAt, rules.backoff);
    return [{ do: "record-exit", container, record: { ...kept, ended, backoff } }];
  });
}

function terminationOf(id: string, { run, stopping }: ContainerRecord, { exit }: Life, now: number): Termination {
  const startedAt = run?.startedAt ?? now;
  const unhealthy = stopping !== undefined && ["liveness", "startup", "post-start"].includes(stopping.because);
  const replaced = stopping?.because === "changed";
  const marks = { id, startedAt, ...(unhealthy && { unhealthy }), ...(replaced && { replaced }) };
  if (exit === undefined) {
    return { ...marks, finishedAt: now, exitCode: unknownExitCode, reason: "ContainerStatusUnknown" };
  }
  const reason = exit.code === 0 ? "Completed" : exit.outOfMemory ? "OOMKilled" : "Error";
  return { ...marks, finishedAt: exit.finishedAt, exitCode: exit.code, reason };
}

function decideDeletion(pod: Pod, seen: Observed, now: number): Decision {
  const { record, tasks } = seen;
  if (record === undefined) return { actions: [{ do: "delete-from-api" }] };
  const graceMs = 1000 * (pod.metadata?.deletionGracePeriodSeconds ?? graceSecondsOf(pod));
  const { actions, wakeAt, done } = planStop({ pod, record, tasks, graceMs, because: "deleted" }, now);
  if (done) return { actions: [{ do: "tear-down" }] };
  if (actions.length > 0 || isOver(pod.status?.phase)) return { actions, ...(wakeAt !== undefined && { wakeAt }) };
  const status = podStatus({ ...seen, pod, record }, now);
  return { actions, status, ...(wakeAt !== undefined && { wakeAt }) };
}

/** Whether the node has to end the Pod. A Pod that is waiting for something has its time, too. */
function dueVerdict(pod: Pod, record: PodRecord, { excess }: Observed, now: number): Problem | undefined {
  if (record.verdict !== undefined) return undefined;
  const message = "Pod was active on the node longer than the specified deadline";
  return now >= deadlineOf(pod, record) ? { reason: "DeadlineExceeded", message } : excess;
}

function deadlineOf({ spec }: Pod, { startTime }: PodRecord): number {
  return startTime + 1000 * (spec?.activeDeadlineSeconds ?? Number.POSITIVE_INFINITY);
}

function decideRunning(pod: Pod, record: PodRecord, seen: Observed, now: number): Decision {
  const before = prerequisites(pod, record, seen, now);
  if (before.length > 0) return { actions: before };
  const graceMs = record.verdict?.reason === "Evicted" ? evictionGraceMs : 1000 * graceSecondsOf(pod);
  const view = { pod, record, seen, graceMs };
  const { actions, wakes } = planContainers(view, now);
  if (actions.length > 0) return { actions };
  const times = [...wakes, deadlineOf(pod, record), record.refreshVolumesAt].filter(
    (time) => time !== undefined && time > now,
  );
  const wakeAt = Math.min(...(times as number[]));
  return { actions, status: podStatus({ ...seen, pod, record }, now), ...(Number.isFinite(wakeAt) && { wakeAt }) };
}

/** What all containers stand on. */
function prerequisites(pod: Pod, record: PodRecord, { sourcesVersion }: Observed, now: number): Action[] {
  if (record.verdict !== undefined) return [];
  const isStale = record.sourcesVersion !== sourcesVersion || (record.refreshVolumesAt ?? Infinity) <= now;
  if (isStale) return [{ do: "sync-volumes" }];
  const holder = record.containers[holderName];
  if (!needsHolder(pod) || isDone(pod, record) || (holder?.run?.started && isLive(holder))) return [];
  // What they shared is gone: they start again with the new one.
  const orphans = Object.keys(record.containers).filter(
    (name) => name !== holderName && isLive(record.containers[name]),
  );
  if (orphans.length > 0) return orphans.map((container) => ({ do: "signal", container, signal: "SIGKILL" }));
  const attempt = holder?.ended === undefined ? (holder?.attempt ?? 0) : holder.attempt + 1;
  return [{ do: "start-holder", attempt }];
}

function graceSecondsOf(pod: Pod): number {
  return pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
}

function isOver(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

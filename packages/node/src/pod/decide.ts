import type { Pod, PodStatus, StateReason } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import { nextBackoff } from "./backoff.ts";
import { holderName, needsHolder } from "./members.ts";
import type { Health, NodeRules, RunState, TaskState } from "./observed.ts";
import { isDone, planContainers } from "./plan-containers.ts";
import { planSave, wantedImage } from "./plan-save.ts";
import { isLive, planStop } from "./plan-stop.ts";
import type { ContainerRecord, PodRecord, StopCause, Termination } from "./record.ts";
import { type Problem, podStatus } from "./status.ts";
import { unsupportedField } from "./supported.ts";

/** The state of one Pod, in the API and on the machine. Plain data: no client, no clock. */
export interface Observed {
  /** The Pod in the API; undefined after it is deleted. */
  readonly pod: Pod | undefined;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  readonly rules: NodeRules;
  /** By container name, for containers whose record has a run. */
  readonly runs: Readonly<Record<string, RunState>>;
  /** By container name, for running containers that have probes. */
  readonly health: Readonly<Record<string, Health>>;
  /** Background tasks by name: image pulls and hooks. */
  readonly tasks: Readonly<Record<string, TaskState>>;
  /** The version of the objects that the Pod's volumes are filled from. */
  readonly sourcesVersion: string;
  /** Set when the Pod exceeds its disk limits and must be evicted. */
  readonly excess?: Problem | undefined;
  /** Set while new Pods must wait because the disk is short of space. */
  readonly pressure?: Problem | undefined;
  /** The UID of a saved Pod that is not removed from the machine yet, and whose address and files a new Pod takes over. */
  readonly predecessor?: string | undefined;
}

/** Every action is safe to repeat. */
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
  | { readonly do: "save"; readonly epoch: number }
  | { readonly do: "record-saved"; readonly epoch: number; readonly sizeBytes: number }
  | { readonly do: "fail-save"; readonly epoch: number; readonly reason: StateReason; readonly message: string }
  | { readonly do: "abandon-save" }
  | { readonly do: "forget-save" }
  | { readonly do: "end-saved" }
  | { readonly do: "kill-saved" }
  | { readonly do: "restore" }
  | { readonly do: "release" }
  | { readonly do: "tear-down" }
  | { readonly do: "delete-from-api" };

export interface Decision {
  readonly actions: readonly Action[];
  /** The status to write when no actions are left. Undefined: do not write the status. */
  readonly status?: PodStatus;
  /** Why the Pod cannot run, for an event. */
  readonly problem?: Problem;
  /** When to reconcile again even if nothing changes, in wall-clock milliseconds. */
  readonly requeueAt?: number;
}

const defaultGraceSeconds = 30;
/** Short, so that an evicted Pod cannot use much more of the disk. */
const evictionGraceMs = 1000;
/** No event reports that disk space was freed, so waiting Pods poll. */
const pressureRetryMs = 5000;
/** 128 + SIGKILL, for a container whose exit code was not recorded. */
const unknownExitCode = 137;

export function decide(observed: Observed, now: number): Decision {
  const { pod, record } = observed;
  if (pod === undefined) return { actions: record === undefined ? [] : [{ do: "tear-down" }] };
  const save = record?.prepared ? planSave(pod, record, observed) : undefined;
  if (save?.holds) {
    return save.actions.length > 0 ? save : { actions: [], status: podStatus({ ...observed, pod, record }, now) };
  }
  const exits = recordExits(observed, now);
  if (exits.length > 0) return { actions: exits };
  if (pod.metadata?.deletionTimestamp !== undefined) return decideDeletion(pod, observed, now);
  if (isOver(pod.status?.phase)) return { actions: record === undefined || record.released ? [] : [{ do: "release" }] };

  const problem = unsupportedField(pod, observed.rules, record);
  if (problem !== undefined) return { actions: [], problem, status: podStatus({ ...observed, pod, problem }, now) };
  if (record === undefined && observed.pressure !== undefined) {
    const waiting = { ...observed, pod, problem: observed.pressure };
    return {
      actions: [],
      problem: observed.pressure,
      status: podStatus(waiting, now),
      requeueAt: now + pressureRetryMs,
    };
  }
  if (record === undefined)
    return observed.predecessor === undefined ? { actions: [{ do: "set-up" }] } : { actions: [] };
  const verdict = dueVerdict(pod, record, observed, now);
  if (verdict !== undefined) return { actions: [{ do: "record-verdict", verdict }] };
  if (!record.prepared && record.verdict === undefined) return { actions: [{ do: "set-up" }] };
  return decideRunning(pod, record, observed, now);
}

function recordExits({ record, runs, rules }: Observed, now: number): Action[] {
  return Object.entries(record?.containers ?? {}).flatMap(([container, kept]): Action[] => {
    const state = runs[container];
    if (
      record === undefined ||
      kept.run === undefined ||
      kept.ended !== undefined ||
      state === undefined ||
      state.alive
    )
      return [];
    const ended = terminationOf(containerId(record.uid, container, kept.attempt), kept, state, now);
    const backoff = nextBackoff(kept.backoff, ended.finishedAt, rules.backoff);
    return [{ do: "record-exit", container, record: { ...kept, ended, backoff } }];
  });
}

function terminationOf(id: string, { run, stopping }: ContainerRecord, { exit }: RunState, now: number): Termination {
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

function decideDeletion(pod: Pod, observed: Observed, now: number): Decision {
  const { record, tasks } = observed;
  if (record === undefined) return { actions: [{ do: "delete-from-api" }] };
  const graceMs = 1000 * (pod.metadata?.deletionGracePeriodSeconds ?? graceSecondsOf(pod));
  const { actions, requeueAt, done } = planStop({ pod, record, tasks, graceMs, because: "deleted" }, now);
  if (done) return { actions: [{ do: "tear-down" }] };
  if (actions.length > 0 || isOver(pod.status?.phase))
    return { actions, ...(requeueAt !== undefined && { requeueAt }) };
  const status = podStatus({ ...observed, pod, record }, now);
  return { actions, status, ...(requeueAt !== undefined && { requeueAt }) };
}

/** Why the node must end the Pod now: its deadline, which also runs while the Pod waits to start, or its disk usage. */
function dueVerdict(pod: Pod, record: PodRecord, { excess }: Observed, now: number): Problem | undefined {
  if (record.verdict !== undefined) return undefined;
  const message = "Pod was active on the node longer than the specified deadline";
  return now >= deadlineOf(pod, record) ? { reason: "DeadlineExceeded", message } : excess;
}

function deadlineOf({ spec }: Pod, { startTime }: PodRecord): number {
  return startTime + 1000 * (spec?.activeDeadlineSeconds ?? Number.POSITIVE_INFINITY);
}

function decideRunning(pod: Pod, record: PodRecord, observed: Observed, now: number): Decision {
  if (record.restore?.step === "failed" && record.verdict === undefined) {
    return { actions: [], status: podStatus({ ...observed, pod, record, problem: record.restore }, now) };
  }
  const before = prerequisites(pod, record, observed, now);
  if (before.length > 0) return { actions: before };
  const graceMs = record.verdict?.reason === "Evicted" ? evictionGraceMs : 1000 * graceSecondsOf(pod);
  const view = { pod, record, observed, graceMs };
  const { actions, requeueTimes } = planContainers(view, now);
  if (actions.length > 0) return { actions };
  const times = [...requeueTimes, deadlineOf(pod, record), record.refreshVolumesAt].filter(
    (time) => time !== undefined && time > now,
  );
  const requeueAt = Math.min(...(times as number[]));
  return {
    actions,
    status: podStatus({ ...observed, pod, record }, now),
    ...(Number.isFinite(requeueAt) && { requeueAt }),
  };
}

/** The actions that must come before any container starts: current volumes, a restore, and a running holder. */
function prerequisites(pod: Pod, record: PodRecord, { sourcesVersion }: Observed, now: number): Action[] {
  if (record.verdict !== undefined) return [];
  const isStale = record.sourcesVersion !== sourcesVersion || (record.refreshVolumesAt ?? Infinity) <= now;
  if (isStale) return [{ do: "sync-volumes" }];
  if (wantedImage(pod) !== undefined && record.restore?.step !== "running") return [{ do: "restore" }];
  const holder = record.containers[holderName];
  if (!needsHolder(pod) || isDone(pod, record) || (holder?.run?.started && isLive(holder))) return [];
  // The namespaces they share ended with the holder. They restart with the new one.
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

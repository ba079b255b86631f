import type { Pod } from "@agent-sandbox/api";
import type { Action } from "./decide.ts";
import { holderName, type Member, membersOf } from "./members.ts";
import type { TaskState } from "./observed.ts";
import type { ContainerRecord, PodRecord, StopCause } from "./record.ts";

export interface StopView {
  readonly pod: Pod;
  readonly record: PodRecord;
  readonly tasks: Readonly<Record<string, TaskState>>;
  readonly graceMs: number;
  readonly because: StopCause;
}

export interface StopPlan {
  readonly actions: readonly Action[];
  readonly requeueAt?: number | undefined;
  /** All containers have stopped. */
  readonly done: boolean;
}

/** A container gets at least this long after SIGTERM, even if its hook or the other containers used up the grace period. */
const leastGraceMs = 2000;

export function isLive(kept: ContainerRecord | undefined): boolean {
  return kept?.run !== undefined && kept.ended === undefined;
}

/**
 * Stops a Pod: first all containers but the sidecars, at the same time, then the sidecars one by one in reverse order. They
 * share one grace period. The holder is not stopped here: it ends when the Pod is torn down.
 */
export function planStop(view: StopView, now: number): StopPlan {
  const { pod, record } = view;
  const live = membersOf(pod).filter(({ container }) => isLive(record.containers[container.name]));
  const others = live.filter(({ role }) => role !== "sidecar");
  const next = others.length > 0 ? others : live.slice(-1);
  // Containers that are no longer in the Pod's spec have no hooks and no grace period.
  const foreign = Object.keys(record.containers).filter(
    (name) =>
      name !== holderName && isLive(record.containers[name]) && !live.some((one) => one.container.name === name),
  );
  if (next.length + foreign.length === 0) return { actions: [], done: true };
  const plans = next.map((member) => stopMember(member, remaining(view, member, now), now));
  const requeueTimes = plans.flatMap(({ requeueAt }) => requeueAt ?? []);
  return {
    actions: [
      ...plans.flatMap(({ actions }) => actions),
      ...foreign.map((container): Action => ({ do: "signal", container, signal: "SIGKILL" })),
    ],
    requeueAt: requeueTimes.length > 0 ? Math.min(...requeueTimes) : undefined,
    done: false,
  };
}

function remaining(view: StopView, { role, container }: Member, now: number): MemberStop {
  const { record, tasks, graceMs, because } = view;
  const kept = record.containers[container.name];
  const left = graceMs - (now - (record.stoppingSince ?? now));
  const grace = graceMs === 0 ? 0 : role === "sidecar" ? Math.max(leastGraceMs, left) : left;
  return { kept, tasks, because, graceMs: kept?.stopping === undefined ? grace : graceMs };
}

export interface MemberStop {
  readonly kept: ContainerRecord | undefined;
  readonly tasks: Readonly<Record<string, TaskState>>;
  readonly because: StopCause;
  readonly graceMs: number;
}

/** Stops one container: `preStop` hook, stop signal, and SIGKILL when the grace period ends. */
export function stopMember(
  { container }: Member,
  { kept, tasks, because, graceMs }: MemberStop,
  now: number,
): Omit<StopPlan, "done"> {
  const { name } = container;
  if (kept === undefined || !isLive(kept)) return { actions: [] };
  const { stopping } = kept;
  if (stopping === undefined) return { actions: [{ do: "stop-container", container: name, because, graceMs }] };
  // A second deletion can shorten the grace period, not extend it.
  const deadline = stopping.since + Math.min(stopping.graceMs, Math.max(0, graceMs));
  const kill: Action = { do: "signal", container: name, signal: "SIGKILL" };
  const hasHook = container.lifecycle?.preStop !== undefined;
  if (stopping.signalledAt !== undefined) {
    const killAt = hasHook && graceMs > 0 ? Math.max(deadline, stopping.signalledAt + leastGraceMs) : deadline;
    return now >= killAt ? { actions: [kill] } : { actions: [], requeueAt: killAt };
  }
  if (graceMs <= 0 || stopping.graceMs <= 0) return { actions: [kill] };
  const hook = hasHook ? tasks[hookTask("preStop", name, kept.attempt)] : { state: "done" };
  if (hook === undefined) return { actions: [{ do: "run-hook", container: name, hook: "preStop" }] };
  if (hook.state === "running" && now < deadline) return { actions: [], requeueAt: deadline };
  return { actions: [{ do: "signal", container: name, signal: "SIGTERM" }] };
}

/** The name of the task that runs a hook. Each attempt has its own. */
export function hookTask(hook: "postStart" | "preStop", container: string, attempt: number): string {
  return `${hook}:${container}:${attempt}`;
}

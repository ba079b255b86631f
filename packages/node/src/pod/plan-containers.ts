import type { Pod } from "@agent-sandbox/api";
import { retryDelayMs } from "./backoff.ts";
import type { Action, Observed } from "./decide.ts";
import { type Member, membersOf } from "./members.ts";
import { hookTask, isLive, planStop, stopMember } from "./plan-stop.ts";
import type { ContainerRecord, PodRecord } from "./record.ts";
import { restarts } from "./restart-policy.ts";
import { hasSettled, settledAt } from "./settling.ts";

export interface ContainersView {
  readonly pod: Pod;
  readonly record: PodRecord;
  readonly observed: Observed;
  /** The grace period of containers whose probe has none. */
  readonly graceMs: number;
}

export interface ContainersPlan {
  readonly actions: readonly Action[];
  readonly requeueTimes: readonly number[];
  /** The containers after this one must wait. */
  readonly blocks?: boolean;
}

const nothing: ContainersPlan = { actions: [], requeueTimes: [] };
const blocked: ContainersPlan = { ...nothing, blocks: true };

/** The next actions for the containers of a Pod: init containers one after the other, then all others. */
export function planContainers(view: ContainersView, now: number): ContainersPlan {
  const { pod, record, observed, graceMs } = view;
  if (isDone(pod, record)) {
    const because = record.verdict === undefined ? "pod over" : "deadline";
    const { actions, requeueAt } = planStop({ pod, record, tasks: observed.tasks, graceMs, because }, now);
    return { actions, requeueTimes: requeueAt === undefined ? [] : [requeueAt] };
  }
  const plans: ContainersPlan[] = [];
  for (const member of startable(view)) {
    const plan = planMember(member, view, now);
    plans.push(plan);
    // One start at a time, in the order of the spec: a container may depend on those before it.
    if (plan.actions.length > 0 || plan.blocks) break;
  }
  return {
    actions: plans.flatMap(({ actions }) => actions),
    requeueTimes: plans.flatMap(({ requeueTimes }) => requeueTimes),
  };
}

/** Whether no container will start again: all have finished, an init container failed for good, or the node ended the Pod. */
export function isDone(pod: Pod, record: PodRecord): boolean {
  if (record.verdict !== undefined) return true;
  const members = membersOf(pod);
  const isOver = ({ role, container }: Member): boolean => {
    const ended = record.containers[container.name]?.ended;
    return ended !== undefined && !restarts(pod, role, ended);
  };
  const hasFailedInit = members.some(
    (member) =>
      member.role === "init" && isOver(member) && record.containers[member.container.name]?.ended?.exitCode !== 0,
  );
  return hasFailedInit || members.filter(({ role }) => role === "main").every(isOver);
}

/** Whether the init containers have succeeded and the sidecars have started, so that the main containers may start. */
export function isInitialized(pod: Pod, record: PodRecord | undefined, health: Observed["health"]): boolean {
  const members = membersOf(pod);
  // A Pod whose main containers have been created stays initialized.
  if (members.some(({ role, container }) => role === "main" && record?.containers[container.name] !== undefined)) {
    return true;
  }
  return members.every(
    (member) => member.role === "main" || member.role === "ephemeral" || isPast(member, record, health),
  );
}

function isPast({ role, container }: Member, record: PodRecord | undefined, health: Observed["health"]): boolean {
  const kept = record?.containers[container.name];
  if (role === "init") return kept?.ended?.exitCode === 0;
  return hasStarted(container, kept, health);
}

/** Whether a container runs and its `postStart` hook and startup probe have succeeded. */
export function hasStarted(
  { name, lifecycle }: Member["container"],
  kept: ContainerRecord | undefined,
  health: Observed["health"],
): boolean {
  if (!isLive(kept) || !kept?.run?.started) return false;
  return (lifecycle?.postStart === undefined || kept.run.hooked === true) && health[name]?.started !== false;
}

/** The containers that may run now: all but the init containers, or the current init container and the sidecars before it. */
function startable({ pod, record, observed }: ContainersView): readonly Member[] {
  const members = membersOf(pod);
  if (isInitialized(pod, record, observed.health)) return members.filter(({ role }) => role !== "init");
  const first = members.findIndex((member) => !isPast(member, record, observed.health));
  return members.slice(0, first + 1).filter((member, index) => member.role === "sidecar" || index === first);
}

function planMember(member: Member, view: ContainersView, now: number): ContainersPlan {
  const kept = view.record.containers[member.container.name];
  if (kept?.ended !== undefined) return restart(member, kept, view, now);
  if (kept?.run?.started) return planRunning(member, kept, view, now);
  return start(member, kept, kept?.attempt ?? 0, view, now);
}

function restart(member: Member, kept: ContainerRecord, view: ContainersView, now: number): ContainersPlan {
  if (kept.ended === undefined || !restarts(view.pod, member.role, kept.ended)) return nothing;
  const startAt = kept.ended.finishedAt + (kept.backoff?.delayMs ?? 0);
  return now < startAt ? { actions: [], requeueTimes: [startAt] } : start(member, kept, kept.attempt + 1, view, now);
}

function start(
  { container: { name } }: Member,
  kept: ContainerRecord | undefined,
  attempt: number,
  { observed }: ContainersView,
  now: number,
): ContainersPlan {
  const { failure } = kept ?? {};
  const retryAt = failure === undefined ? 0 : failure.at + retryDelayMs(failure, observed.rules.backoff);
  if (now < retryAt) return { actions: [], requeueTimes: [retryAt] };
  // A container that was created but not started has its image.
  const pull =
    kept?.run !== undefined && kept.ended === undefined ? { state: "done" as const } : observed.tasks[pullTask(name)];
  if (pull === undefined) return { actions: [{ do: "pull-image", container: name }], requeueTimes: [] };
  if (pull.state === "running") return nothing;
  if (pull.state === "failed") {
    const { reason, message } = pull;
    return { actions: [{ do: "record-failure", container: name, problem: { reason, message } }], requeueTimes: [] };
  }
  return { actions: [{ do: "start-container", container: name, attempt }], requeueTimes: [] };
}

function planRunning(member: Member, kept: ContainerRecord, view: ContainersView, now: number): ContainersPlan {
  const { name, lifecycle } = member.container;
  const { tasks, health } = view.observed;
  const stop = (because: "liveness" | "startup" | "post-start" | "changed", graceMs = view.graceMs): ContainersPlan => {
    const { actions, requeueAt } = stopMember(member, { kept, tasks, because, graceMs }, now);
    return { actions, requeueTimes: requeueAt === undefined ? [] : [requeueAt] };
  };
  // The record already has the cause, so the one given here is not used.
  if (kept.stopping !== undefined) return stop("liveness", kept.stopping.graceMs);
  if (kept.reference !== undefined && kept.reference !== member.container.image) return stop("changed");
  if (lifecycle?.postStart !== undefined && kept.run?.hooked !== true) {
    const hook = tasks[hookTask("postStart", name, kept.attempt)];
    if (hook === undefined)
      return { actions: [{ do: "run-hook", container: name, hook: "postStart" }], requeueTimes: [] };
    if (hook.state === "done") return { actions: [{ do: "record-hooked", container: name }], requeueTimes: [] };
    return hook.state === "failed" ? stop("post-start") : blocked;
  }
  const failed = health[name]?.failed;
  if (failed !== undefined) return stop(failed.probe, failed.graceMs);
  return hasSettled(member.container, kept, now)
    ? nothing
    : { actions: [], requeueTimes: [settledAt(member.container, kept)] };
}

export function pullTask(container: string): string {
  return `pull:${container}`;
}
